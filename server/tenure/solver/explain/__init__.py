"""Why a cycle decided what it did: answers from the searches themselves, played again."""

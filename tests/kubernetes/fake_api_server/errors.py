"""Every response other than 2xx, with kube-apiserver's wording where a client reads it."""

from http import HTTPStatus
from typing import Any

from tests.kubernetes.fake_api_server.resource_kinds import Resource


class ApiStatusError(Exception):
    """A rejected request. `body` is a Status; `headers` are sent with it."""

    def __init__(
        self, status: int, reason: str, message: str, details: dict[str, Any] | None = None, **more: Any
    ) -> None:
        self.status = status
        self.body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "code": status,
            **({"reason": reason} if reason else {}),
            **({"details": details} if details else {}),
            **more,
        }
        wait = (details or {}).get("retryAfterSeconds")
        self.headers = {"Retry-After": str(wait)} if wait else {}
        super().__init__(message)


def _about(resource: Resource, name: str) -> dict[str, Any]:
    group = {"group": resource.group} if resource.group else {}
    return {"name": name, **group, "kind": resource.plural}


def not_found(resource: Resource, name: str) -> ApiStatusError:
    """The object does not exist."""
    message = f'{resource.full_name} "{name}" not found'
    return ApiStatusError(HTTPStatus.NOT_FOUND, "NotFound", message, _about(resource, name))


def no_such_path() -> ApiStatusError:
    """The path is not served."""
    message = "the server could not find the requested resource"
    return ApiStatusError(HTTPStatus.NOT_FOUND, "NotFound", message)


def already_exists(resource: Resource, name: str) -> ApiStatusError:
    """The object exists already."""
    message = f'{resource.full_name} "{name}" already exists'
    return ApiStatusError(HTTPStatus.CONFLICT, "AlreadyExists", message, _about(resource, name))


def conflict(what: str, name: str, why: str) -> ApiStatusError:
    """The object does not match the request; `what` is its kind in one of several forms."""
    message = f'Operation cannot be fulfilled on {what} "{name}": {why}'
    return ApiStatusError(HTTPStatus.CONFLICT, "Conflict", message, {"name": name, "kind": what})


def modified(resource: Resource, name: str) -> ApiStatusError:
    """The object was written since it was read."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource.full_name, name, why)


def precondition(resource: Resource, name: str, field: str, asked: str, has: str) -> ApiStatusError:
    """A precondition of a write does not hold."""
    return conflict(
        resource.full_name,
        name,
        f"StorageError: invalid object, Code: 4, Key: {name}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: {field} in precondition: {asked}, {field} in object meta: {has}",
    )


def invalid(resource: Resource, name: str, field: str, why: str) -> ApiStatusError:
    """The value of a field is invalid."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    causes = [{"field": field, "message": why}]
    message = f'{kind} "{name}" is invalid: {field}: {why}'
    return ApiStatusError(
        HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, {**_about(resource, name), "causes": causes}
    )


def bad_request(message: str) -> ApiStatusError:
    """The request is invalid, or invalid for this path."""
    return ApiStatusError(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def unauthorized() -> ApiStatusError:
    """The token is unknown."""
    return ApiStatusError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")


def forbidden(resource: Resource, name: str, why: str) -> ApiStatusError:
    """The user lacks permission."""
    who = f'{resource.full_name} "{name}"' if name else resource.full_name
    details = _about(resource, name)
    return ApiStatusError(HTTPStatus.FORBIDDEN, "Forbidden", f"{who} is forbidden: {why}", details)


def expired(message: str, **more: Any) -> ApiStatusError:
    """The requested version is compacted."""
    return ApiStatusError(HTTPStatus.GONE, "Expired", message, **more)

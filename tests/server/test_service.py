"""The service over a real connection: answers, refusals, limits, health and reflection."""

import logging
import threading
from collections.abc import Iterator

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from tenure.client import Client, InvalidSnapshot, ServerDefect, TooLarge, Unavailable
from tenure.server.engine import Engine
from tenure.server.errors import MAX_VIOLATIONS
from tenure.server.service import SERVICE
from tenure.server.settings import load_settings
from tenure.solver.registry import default_profile
from tenure.v1 import decision_service_pb2 as pb
from tests.server.bad_snapshots import BAD_SNAPSHOTS, broken
from tests.server.given import small_snapshot
from tests.server.running import channel_to, server_here

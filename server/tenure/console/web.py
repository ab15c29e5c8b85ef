"""The web application: routes, and which view and templates a request gets."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request as WebRequest
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from tenure.client import PermissionDenied, TenureError, Unauthenticated
from tenure.console.access import Access, Audience, NoCredentials, Reader
from tenure.console.audience_texts import against_text, reason_for, request_for
from tenure.console.event_streams import EventStreams
from tenure.console.formatting import FILTERS, printable
from tenure.console.http_guard import PROBE, OwnHosts, SecureHeaders, read_assets
from tenure.console.page_request import NotFound, Request
from tenure.console.pages import OTHERS, PAGES, Page
from tenure.console.questions import Questions
from tenure.console.view import ShardName, View
from tenure.console.watch import Watch
from tenure.console.workload_filter import filter_of, select, to_csv


@dataclass(frozen=True)
class SiteOptions:
    """What the operator of the console decides."""

    audience: Audience = Audience.OPERATOR
    queues: tuple[str, ...] = ()
    """Queues that tenants may see, with those below them."""
    hosts: tuple[str, ...] = ("*",)
    """Accepted values of the header Host."""


class Site:
    """The application over a watch and the access of readers."""

    def __init__(self, watch: Watch, access: Access, options: SiteOptions) -> None:
        self._watch, self._access, self._options = watch, access, options
        self._questions = Questions(access)
        self._assets = read_assets()
        self.event_streams = EventStreams(watch)
        environment = jinja2.Environment(
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=printable,
            loader=jinja2.PackageLoader("tenure.console"),
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters.update({**FILTERS, "printable": printable})
        self._templates = environment
        is_operator = options.audience is Audience.OPERATOR
        self._pages = [page for page in PAGES if is_operator or page.for_tenants]
        self._others = [page for page in OTHERS if is_operator or page.for_tenants]

    def application(self) -> Starlette:
        """The ASGI application."""
        routes = [
            Route("/", self._home),
            Route(PROBE, self._healthz),
            Route("/events", self._events),
            Route("/workloads.csv", self._csv),
            Route("/static/{digest}/{name}", self._asset),
            *(Route(f"/{page.path}", partial(self._page, page)) for page in (*self._pages, *self._others)),
        ]
        middleware = [
            Middleware(SecureHeaders),
            Middleware(OwnHosts, hosts=self._options.hosts),
            Middleware(GZipMiddleware, minimum_size=2_000),
        ]
        handlers = {404: self._not_found, Exception: self._failed}
        return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)

    async def _home(self, request: WebRequest) -> Response:
        return RedirectResponse(f"queues?{request.url.query}" if request.url.query else "queues")

    async def _healthz(self, request: WebRequest) -> Response:
        return PlainTextResponse("ok")

    async def _asset(self, request: WebRequest) -> Response:
        name, digest = request.path_params["name"], request.path_params["digest"]
        found = self._assets.get(name)
        if found is None or found.digest != digest:
            return PlainTextResponse("no such file", 404)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(found.content, media_type=found.media_type, headers=headers)

    async def _page(self, page: Page, request: WebRequest) -> Response:
        return await run_in_threadpool(self._render_page, page, request)

    def _render_page(self, page: Page, request: WebRequest) -> Response:
        view: View | None = None
        values: dict[str, Any]
        try:
            reader = self._reader(request)
            shards = self._shards(reader)
            view = self._view(request, shards)
            template, values = page.content(self._page_request(request, view, reader))
            status = 200
        except NotFound as error:
            template, values, status = "message.html.j2", {"text": str(error), "title": "Not found"}, 404
        except _Problem as problem:
            template, values = "message.html.j2", {"text": problem.text, "title": problem.title}
            status, shards = problem.status, problem.shards
        return self._response(request, template, status, page, view, shards, values)

    def _reader(self, request: WebRequest) -> Reader:
        try:
            return self._access.reader(
                request.headers.get("authorization", ""), request.client.host if request.client else ""
            )
        except NoCredentials as error:
            raise _Problem("Sign in", str(error), 401) from None
        except (Unauthenticated, PermissionDenied):
            raise _Problem("Sign in", "The service does not accept the credentials.", 401) from None
        except TenureError:
            raise _Problem("No connection", "The service does not respond.", 503) from None

    def _shards(self, reader: Reader) -> list[ShardName]:
        found = [ShardName(state.cluster_id, state.node_pool) for state in self._watch.wait_for_states()]
        return [shard for shard in found if reader.may_read(shard)]

    def _view(self, request: WebRequest, shards: list[ShardName]) -> View:
        """The view that the URL names; without a name, that of the first cluster."""
        query = request.query_params
        if "cluster" in query:
            shard = ShardName(query["cluster"], query.get("pool", ""))
        elif shards:
            shard = shards[0]
        else:
            if self._watch.problem or not self._watch.has_listed:
                detail = f": {self._watch.problem}" if self._watch.problem and self._is_operator else "."
                raise _Problem("No connection", f"The service does not respond{detail}", 503, shards)
            raise _Problem("No cluster", "No scheduler has pushed a state yet.", 503, shards)
        view = self._watch.view(shard) if shard in shards else None
        if view is None:
            kept = self._watch.current().get(shard) if shard in shards or self._watch.problem else None
            if kept is None:
                raise _Problem(
                    "No such cluster", "There is no state of this cluster that you may read.", 404, shards
                )
            return kept
        return view

    @property
    def _is_operator(self) -> bool:
        return self._options.audience is Audience.OPERATOR

    def _page_request(self, request: WebRequest, view: View, reader: Reader) -> Request:
        site = request.headers.get("sec-fetch-site", "none")
        return Request(
            view=view,
            reader=reader,
            query=request.query_params,
            audience=self._options.audience,
            visible=self._visible(view),
            questions=self._questions,
            watch=self._watch,
            is_own=site in ("same-origin", "none"),
        )

    def _visible(self, view: View) -> frozenset[str] | None:
        if self._is_operator:
            return None
        wanted = set(self._options.queues)
        return frozenset(name for name in view.queues if wanted.intersection(view.path_of(name)))

    def _response(
        self,
        request: WebRequest,
        template: str,
        status: int,
        page: Page,
        view: View | None,
        shards: list[ShardName],
        values: Mapping[str, Any],
    ) -> Response:
        where = _where(request, view)
        query = {
            key: value
            for key, value in request.query_params.items()
            if key not in ("cluster", "pool", "part")
        }

        def url(path: str, **parameters: object) -> str:
            return _url(path, {**where, **parameters})

        content = {
            "title": page.label,
            "page": page.path if page.path != "workload" else "workloads",
            "pages": self._pages,
            "view": view,
            "known": view.names.pod_groups if view and self._is_operator else self._visible_uids(view),
            "clusters": shards,
            "problem": self._watch.problem
            if self._is_operator
            else self._watch.problem and "try again later",
            "age": 0 if view is None else int(time.monotonic() - view.seen_at),
            "operator": self._is_operator,
            "url": url,
            "url_with": lambda **changed: url(page.path, **{**query, **changed}),
            "rows_url": url(page.path, **query),
            "cluster_url": lambda each: _url(page.path, {"cluster": each.cluster_id, "pool": each.node_pool}),
            "hidden": list(where.items()),
            "asset": lambda name: f"static/{self._assets[name].digest}/{name}",
            "reason_text": partial(reason_for, self._options.audience),
            "against": partial(against_text, self._options.audience),
            "request_text": partial(request_for, self._options.audience),
            **values,
        }
        html = self._templates.get_template(template).render(content)
        return Response(html, status, media_type="text/html", headers={"Cache-Control": "no-store"})

    def _visible_uids(self, view: View | None) -> frozenset[str]:
        visible = self._visible(view) if view else None
        if view is None or visible is None:
            return frozenset()
        return frozenset(group.uid for group in view.snapshot.pod_groups if group.queue in visible)

    async def _csv(self, request: WebRequest) -> Response:
        return await run_in_threadpool(self._render_csv, request)

    def _render_csv(self, request: WebRequest) -> Response:
        try:
            reader = self._reader(request)
            view = self._view(request, self._shards(reader))
        except _Problem as problem:
            return PlainTextResponse(problem.text, problem.status)
        content = to_csv(select(view, filter_of(request.query_params), self._visible(view)))
        headers = {"Content-Disposition": 'attachment; filename="workloads.csv"', "Cache-Control": "no-store"}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    async def _events(self, request: WebRequest) -> Response:
        try:
            reader = await run_in_threadpool(self._reader, request)
            shards = await run_in_threadpool(self._shards, reader)
            view = await run_in_threadpool(self._view, request, shards)
        except _Problem as problem:
            return PlainTextResponse(problem.text, problem.status)
        return self.event_streams.open(view.shard, reader.name)

    async def _not_found(self, request: WebRequest, error: Exception) -> Response:
        return PlainTextResponse("There is no such page.", 404)

    async def _failed(self, request: WebRequest, error: Exception) -> Response:
        return PlainTextResponse("Internal error of the console; its log has the cause.", 500)


class _Problem(Exception):
    """Why a request has no view."""

    def __init__(self, title: str, text: str, status: int, shards: list[ShardName] | None = None) -> None:
        self.title, self.text, self.status, self.shards = title, text, status, shards or []
        super().__init__(text)


def _where(request: WebRequest, view: View | None) -> dict[str, str]:
    """The cluster of a page, for its links."""
    if view is None:
        return {key: request.query_params[key] for key in ("cluster", "pool") if key in request.query_params}
    pool = {"pool": view.shard.node_pool} if view.shard.node_pool else {}
    return {"cluster": view.shard.cluster_id, **pool}


def _url(path: str, parameters: Mapping[str, object]) -> str:
    kept = {key: value for key, value in parameters.items() if value not in ("", None)}
    return f"{path}?{urlencode(kept)}" if kept else path

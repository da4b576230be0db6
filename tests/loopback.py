"""An OpenAI-compatible server on the loopback interface, with faults on demand."""

import asyncio
import json
import threading
from http import HTTPStatus


def completion(texts, *, model=None, logprobs=None, finish="stop"):
    """Body of a chat completion with one choice per text, of the model that is asked unless another is named."""
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "system_fingerprint": "fp_test",
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 2 * len(texts),
            "total_tokens": 10 + 2 * len(texts),
        },
        "choices": [
            {
                "index": i,
                "finish_reason": finish,
                "logprobs": logprobs,
                "message": {"role": "assistant", "content": t},
            }
            for i, t in enumerate(texts)
        ],
    }


def words(body):
    """The prompt in a request's body."""
    return json.loads(body)["messages"][0]["content"]


def right(number, path, body):
    """As many samples as asked for, each naming its prompt."""
    return completion([f"{words(body)} Score: 4"] * json.loads(body).get("n", 1))


def error(status, message, **fields):
    """An error as the API words it."""
    return status, {
        "error": {"message": message, "type": "error", "param": None, "code": None} | fields
    }


class Loopback:
    """Serve on 127.0.0.1 in a thread of its own.

    Parameters
    ----------
    answer : callable
        Takes the number of the call, its method and path, and the body; returns a body, or a
        tuple of status, body and headers. A body may be a dict, bytes, or None to cut the
        connection. Among the headers, `delay` is in seconds, `cut` leaves out so many bytes
        at the end before it cuts the connection, and `drip` sends byte by byte, so many seconds apart.
    delay : float
        Seconds before each answer.
    tls : ssl.SSLContext, optional
        Serve https.

    Attributes
    ----------
    requests, headers : list
        Bodies and headers in the order of their arrival.
    """

    def __init__(self, answer, *, delay=0.0, port=0, tls=None):
        self.answer, self.delay, self.port, self.tls = answer, delay, port, tls
        self.requests, self.headers = [], []

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait(60)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    def _serve(self, ready):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(
                self._connection, "127.0.0.1", self.port, backlog=1024, ssl=self.tls
            )
        )
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()
        server.close()
        open_connections = asyncio.all_tasks(self._loop)
        for task in open_connections:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*open_connections, return_exceptions=True))
        self._loop.close()

    async def _connection(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                lines = head.split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.headers.append(headers)
                self.requests.append(body)
                answer = self.answer(len(self.requests), lines[0].split(" ")[:2], body)
                status, content, extra = 200, answer, {}
                if isinstance(answer, tuple):
                    status, content, extra = (*answer, {})[:3]
                extra = dict(extra)
                await asyncio.sleep(extra.pop("delay", self.delay))
                if content is None:
                    break
                if isinstance(content, dict) and content.get("object") == "chat.completion":
                    content["model"] = content["model"] or json.loads(body)["model"]
                content = content if isinstance(content, bytes) else json.dumps(content).encode()
                cut = extra.pop("cut", 0)
                drip = extra.pop("drip", 0)
                fields = {
                    "content-type": "application/json",
                    "content-length": len(content),
                } | extra
                writer.write(
                    f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
                    + "".join(f"{k}: {v}\r\n" for k, v in fields.items()).encode()
                    + b"\r\n"
                )
                content = content[: len(content) - cut]
                for part in (
                    (content[i : i + 1] for i in range(len(content))) if drip else [content]
                ):
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(drip)
                if cut:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

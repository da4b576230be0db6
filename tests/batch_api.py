"""The Batch API for `loopback.Loopback`."""

import json

from loopback import completion


class Api:
    """The endpoints of the Batch API; a batch runs when `finish` is called.

    Parameters
    ----------
    answer : callable, optional
        Takes a prompt and the number of a sample, and returns its reply.

    Attributes
    ----------
    batches : dict
        By id, each with its `lines`.
    fails : set of str
        Prompts that fail.
    """

    def __init__(self, answer=None):
        self.answer = answer or (lambda prompt, sample: f"{prompt}\u2028 reply {sample}")
        self.completion = completion
        self.files, self.batches, self.fails, self.refuse, self.at_once = {}, {}, set(), {}, False

    def __call__(self, number, request, body):
        method, path = request[0], request[1].removeprefix("/v1/")
        if path in self.refuse:
            return self.refuse[path]
        parts = path.split("/")
        if path == "files":
            return self.upload(body)
        if parts[0] == "files":
            return self.files[parts[1]]
        if method == "POST" and path == "batches":
            made = self.create(json.loads(body))
            return self.finish(made["id"]) if self.at_once else made
        found = self.batches[parts[1]]
        if parts[2:] == ["cancel"]:
            if found["status"] == "completed":
                return 409, {"error": {"message": "cannot cancel a completed batch"}}
            found["status"] = "cancelling"
        return found

    def upload(self, body):
        boundary = body.split(b"\r\n", 1)[0]
        part = next(p for p in body.split(boundary) if b'name="file"' in p.split(b"\r\n\r\n", 1)[0])
        content = part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
        return {
            "id": self.put(content),
            "object": "file",
            "purpose": "batch",
            "bytes": len(content),
        }

    def put(self, content):
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return name

    def create(self, asked):
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        made = {
            "id": f"batch_{len(self.batches)}",
            "object": "batch",
            "status": "validating",
            "output_file_id": None,
            "error_file_id": None,
            "lines": lines,
            **asked,
        }
        self.batches[made["id"]] = made
        return made

    def finish(self, name, status="completed", *, only=None, odd=()):
        """Answer a batch's lines (the first `only`), `odd` lines of output in front."""
        made, output, errors = self.batches[name], [*odd], []
        for line in made["lines"][:only]:
            prompt, n = line["body"]["messages"][0]["content"], line["body"].get("n", 1)
            start = int(line["custom_id"].rsplit("-", 1)[1])
            texts = [self.answer(prompt, start + i) for i in range(n)]
            body, status_code = self.completion(texts), 200
            if prompt in self.fails:
                body, status_code = {"error": {"message": "overloaded"}}, 500
            (errors if prompt in self.fails else output).append(
                {
                    "id": "r",
                    "custom_id": line["custom_id"],
                    "error": None,
                    "response": {"status_code": status_code, "request_id": "q", "body": body},
                }
            )
        files = {
            name: self.put("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode())
            for name, rows in (("output_file_id", output), ("error_file_id", errors))
            if rows
        }
        return made.update(files, status=status) or made

    def asked(self, name):
        """Prompt and number of samples of each line."""
        return [
            (line["body"]["messages"][0]["content"], line["body"].get("n", 1))
            for line in self.batches[name]["lines"]
        ]

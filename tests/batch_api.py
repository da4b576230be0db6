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
    answers : dict
        Status and body by prompt; any other prompt is answered with its own words.
    refuse : dict
        Answers by path, in place of the right ones.
    """

    def __init__(self, answer=None):
        self.answer = answer or (lambda prompt, sample: f"{prompt}\u2028 reply {sample}")
        self.files, self.batches, self.answers, self.refuse = {}, {}, {}, {}

    def __call__(self, number, request, body):
        method, path = request[0], request[1].removeprefix("/v1/")
        if path in self.refuse:
            return self.refuse[path]
        if path == "files":
            part = next(p for p in body.split(body.split(b"\r\n", 1)[0]) if b'name="file"' in p)
            content = part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
            return {"id": self.put(content), "object": "file", "purpose": "batch", "bytes": 1}
        if path.startswith("files/"):
            return self.files[path.split("/")[1]]
        if method == "GET":
            return self.batches[path.split("/")[1]]
        asked = json.loads(body)
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        name = f"batch_{len(self.batches)}"
        files = {"output_file_id": None, "error_file_id": None}
        self.batches[name] = {"id": name, "status": "validating", "lines": lines, **files, **asked}
        return self.batches[name]

    def put(self, content):
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return name

    def finish(self, name, status="completed", *, only=None):
        """Answer a batch's lines, the first `only`."""
        output = []
        for line in self.batches[name]["lines"][:only]:
            prompt, n = line["body"]["messages"][0]["content"], line["body"].get("n", 1)
            texts = [self.answer(prompt, i) for i in range(n)]
            right = 200, completion(texts, model=line["body"]["model"])
            status_code, body = self.answers.get(prompt, right)
            response = {"status_code": status_code, "request_id": "q", "body": body}
            row = {"custom_id": line["custom_id"], "error": None, "response": response}
            output.append(json.dumps(row, ensure_ascii=False))
        file = self.put("\n".join(output).encode())
        self.batches[name] |= {"status": status, "output_file_id": file}

    def asked(self, name):
        """Prompt and number of samples of each line."""
        return [
            (line["body"]["messages"][0]["content"], line["body"].get("n", 1))
            for line in self.batches[name]["lines"]
        ]

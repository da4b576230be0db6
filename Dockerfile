# Runs every notebook on the data that it downloads, and compares the ledger with the committed one:
#   docker build -t nlgjudge . && docker run nlgjudge
FROM python:3.12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /nlgjudge
COPY . .
RUN make .venv/stamp
CMD ["make", "reproduce"]

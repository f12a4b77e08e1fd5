// Runs in a sandbox. Requests pages from a server, each over its own connection, as commanded by lines on stdin:
// {"count": 20, "path": "/100/1000", "bytes": 100} is answered with a line of 20 times in ms.
const { connect } = require("node:net");
const { createInterface } = require("node:readline");
const { connect: connectTls } = require("node:tls");

const { ca, host, to, port, proxied } = JSON.parse(process.argv[1]);

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    const { count, ...page } = JSON.parse(line);
    const times = [];
    for (let asked = 0; asked < count; asked++) {
      const began = performance.now();
      await ask(page);
      times.push(performance.now() - began);
    }
    console.log(JSON.stringify(times));
  }
}

async function ask({ bytes, path }) {
  const socket = await (proxied ? openTunnel() : open(to, port));
  const tls = connectTls({ socket, ca, servername: host });
  tls.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let read = 0;
  let head = "";
  await new Promise((resolve, reject) => {
    tls.on("data", (chunk) => {
      if (read === 0) head = chunk.toString("latin1");
      read += chunk.length;
    });
    tls.on("end", resolve).on("error", reject);
  });
  tls.destroy();
  const length = read - head.indexOf("\r\n\r\n") - 4;
  if (!head.startsWith("HTTP/1.1 200 ") || length !== bytes) throw new Error(`Got ${length} bytes after ${head}`);
}

async function openTunnel() {
  const socket = await open("127.0.0.1", 3128);
  socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`);
  const answer = await new Promise((resolve, reject) => socket.once("data", resolve).once("close", reject));
  if (!/^HTTP\/1\.1 200 .*\r\n\r\n$/s.test(answer)) throw new Error(String(answer));
  socket.removeAllListeners("close");
  return socket;
}

function open(address, at) {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port: at, noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}

void main();

/** Returns a TLS ClientHello for these server names, with an encrypted ClientHello extension if `encrypted`. */
export function buildClientHello(names: readonly string[], { encrypted = false } = {}): Buffer {
  const list = Buffer.concat(names.map((name) => Buffer.concat([Buffer.from([0]), sized(2, Buffer.from(name))])));
  const extensions = Buffer.concat([
    ...(names.length === 0 ? [] : [extension(0, sized(2, list))]),
    ...(encrypted ? [extension(0xfe0d, Buffer.alloc(64))] : []),
    extension(0x2b, Buffer.from([2, 3, 4])),
  ]);
  const suites = sized(2, Buffer.from([0x13, 0x01]));
  const hello = [Buffer.from([3, 3]), Buffer.alloc(32, 7), sized(1, Buffer.alloc(0)), suites, Buffer.from([1, 0])];
  const message = Buffer.concat([Buffer.from([1, 0]), sized(2, Buffer.concat([...hello, sized(2, extensions)]))]);
  return Buffer.concat([Buffer.from([22, 3, 1]), sized(2, message)]);
}

function extension(type: number, content: Buffer): Buffer {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(type);
  return Buffer.concat([head, sized(2, content)]);
}

function sized(bytes: 1 | 2, content: Buffer): Buffer {
  const length = Buffer.alloc(bytes);
  length.writeUIntBE(content.length, 0, bytes);
  return Buffer.concat([length, content]);
}

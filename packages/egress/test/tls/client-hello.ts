// The parts of a ClientHello, for combinations that no client sends.
export const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
export const block = (bytes: Buffer): Buffer => Buffer.concat([u16(bytes.length), bytes]);
export const extension = (type: number, data: Buffer): Buffer => Buffer.concat([u16(type), block(data)]);
export const name = (text: string, type = 0): Buffer => Buffer.concat([Buffer.from([type]), block(Buffer.from(text))]);
export const sni = (...names: Buffer[]): Buffer => extension(0, block(Buffer.concat(names)));

/** Creates a ClientHello with these extensions, split into several records. */
export function toHello(extensions: Buffer | undefined, records = 1): Buffer {
  const fields = [Buffer.from([3, 3]), Buffer.alloc(32), Buffer.from([0]), block(u16(0x1301)), Buffer.from([1, 0])];
  const body = Buffer.concat([...fields, ...(extensions ? [block(extensions)] : [])]);
  const message = Buffer.concat([Buffer.from([1, 0]), u16(body.length), body]);
  const size = Math.ceil(message.length / records);
  return Buffer.concat(
    Array.from({ length: records }, (_, at) => message.subarray(at * size, (at + 1) * size))
      .filter((part) => part.length > 0)
      .flatMap((part) => [Buffer.from([22, 3, 1]), block(part)]),
  );
}

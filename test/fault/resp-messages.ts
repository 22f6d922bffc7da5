/**
 * The end of the RESP message that begins at `from`, or `undefined` if the message is incomplete. The input is trusted.
 */
function endOfMessage(bytes: Buffer, from = 0): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', from);
  if (lineEnd < 0) return undefined;
  const type = String.fromCharCode(bytes[from] ?? 0);
  const length = Number(bytes.toString('latin1', from + 1, lineEnd));
  let end = lineEnd + 2;
  if ('$=!'.includes(type) && length >= 0) end += length + 2;
  if (end > bytes.length) return undefined;
  const items = '*~>'.includes(type) ? length : type === '%' ? 2 * length : 0;
  for (let item = 0; item < items; item++) {
    const next = endOfMessage(bytes, end);
    if (next === undefined) return undefined;
    end = next;
  }
  return end;
}

/** Takes the complete messages from a stream of bytes. */
export class MessageReader {
  #rest = Buffer.alloc(0);

  *read(chunk: Buffer): Generator<Buffer> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (let end = endOfMessage(this.#rest); end !== undefined; end = endOfMessage(this.#rest)) {
      const message = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      yield message;
    }
  }
}

/** The words of a command: an array of bulk strings. */
export function wordsOf(command: Buffer): string[] {
  const words: string[] = [];
  let at = command.indexOf('\r\n') + 2;
  while (at < command.length) {
    const start = command.indexOf('\r\n', at) + 2;
    const end = endOfMessage(command, at) ?? command.length;
    words.push(command.toString('latin1', start, end - 2));
    at = end;
  }
  return words;
}

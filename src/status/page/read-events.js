const RETRY_MS = 2000;

/** What is sent with each request: the token, if there is one. It is kept in this page alone. */
export class Access {
  #token = '';
  #changed = new AbortController();

  get headers() {
    return this.#token === '' ? {} : { Authorization: `Bearer ${this.#token}` };
  }

  /** Aborted when another token is given. */
  get signal() {
    return this.#changed.signal;
  }

  use(token) {
    this.#token = token;
    this.#changed.abort();
    this.#changed = new AbortController();
  }
}

/**
 * Reads the messages of `/status/events` for as long as the page is open, and connects again where they end. Not by
 * EventSource, which sends no token. `onState` is told `live`, or why there is nothing.
 */
export async function readEvents(access, onMessage, onState) {
  for (;;) {
    try {
      const response = await fetch('/status/events', { headers: access.headers, signal: access.signal });
      if (response.ok) {
        onState('live');
        await readMessages(response.body, onMessage);
        onState('ended; connecting again');
      } else {
        onState(`refused: ${(await response.json()).error}`);
      }
    } catch {
      onState('connecting again');
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function readMessages(body, onMessage) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const messages = (text + value).split('\n\n');
    text = messages.pop();
    for (const message of messages) onMessage(JSON.parse(message.replace(/^data: /, '')));
  }
}

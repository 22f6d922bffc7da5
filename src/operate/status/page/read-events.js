const RETRY_MS = 2000;

let token = '';
let tokenChanged = new AbortController();

/** Sends this token from now on. It is kept in this page alone. */
export function useToken(given) {
  token = given;
  tokenChanged.abort();
  tokenChanged = new AbortController();
}

/** Asks the admin port, with the token where there is one; ends when another token is given. */
export function ask(path, options = {}) {
  const authorization = token === '' ? {} : { Authorization: `Bearer ${token}` };
  return fetch(path, {
    ...options,
    headers: { ...options.headers, ...authorization, ...(options.body && { 'Content-Type': 'application/json' }) },
    signal: tokenChanged.signal,
  });
}

/**
 * Reads the messages of `/status/events` for as long as the page is open, and connects again where they end. Not by
 * EventSource, which sends no token. `onState` is told `live`, or why there is nothing.
 */
export async function readEvents(onMessage, onState) {
  for (;;) {
    try {
      const response = await ask('/status/events');
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
  // Not `for await`, which Safari does not know.
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const messages = (text + read.value).split('\n\n');
    text = messages.pop();
    for (const message of messages) onMessage(JSON.parse(message.replace(/^data: /, '')));
  }
}

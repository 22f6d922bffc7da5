const ASK_EVERY_MS = 1000;
const TIMEOUT_MS = 10_000;

let token = '';

/** From now on sends this token, which only this page keeps. */
export function useToken(given) {
  token = given;
}

/**
 * Sends a request to the admin port at a path relative to the page (which may be served below a prefix), with the token
 * if there is one.
 */
export function ask(path, options = {}) {
  const authorization = token === '' ? {} : { Authorization: `Bearer ${token}` };
  return fetch(path, {
    ...options,
    headers: { ...options.headers, ...authorization, ...(options.body && { 'Content-Type': 'application/json' }) },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
}

/**
 * Requests the numbers every second, while the page is open: at first alone, then with the history, then with the moments
 * since the last ones. `onState` gets
 * `live`, or the reason why there are no numbers.
 */
export async function watchNumbers(onNumbers, onState) {
  for (let since; ; ) {
    try {
      const response = await ask(since === undefined ? 'status.json' : `status.json?since=${since}`);
      const answer = await response.json();
      if (response.ok) {
        onNumbers(answer);
        since = since === undefined ? 0 : answer.at;
      }
      onState(response.ok ? 'live' : `refused: ${answer.error}`);
    } catch {
      onState('connecting again');
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}

import { execFileSync } from 'node:child_process';
import { type Answered, ask } from './http-client.ts';

/** The arguments as the shell passes them to curl, which not every machine has. */
function argumentsOf(command: string): string[] {
  const shell = `curl() { printf '%s\\n' "$@"; }\n${command}`;
  return execFileSync('/bin/sh', ['-c', shell], { encoding: 'utf8' }).trimEnd().split('\n');
}

/** Sends the request of a documented curl command, to this origin instead of its own. */
export function curl(command: string, origin: string): Promise<Answered> {
  const rest = argumentsOf(command);
  let [method, target, body]: [string, string, string | undefined] = ['GET', '', undefined];
  const headers: Record<string, string> = {};
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (['-i', '-s', '-si'].includes(word)) continue;
    if (word === '-X') method = rest.shift() ?? '';
    else if (word === '-d') body = rest.shift() ?? '';
    else if (word === '-H') {
      const [name = '', value = ''] = (rest.shift() ?? '').split(': ');
      headers[name] = value;
    } else {
      const { pathname, search } = new URL(word);
      target = pathname + search;
    }
  }
  return ask(origin, target, { method, headers, ...(body === undefined ? {} : { body }) });
}

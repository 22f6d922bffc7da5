import { randomBytes } from 'node:crypto';

/** A network that no other test uses: all test files share one Redis. */
export function someNetwork(): string {
  return `test-${randomBytes(8).toString('hex')}`;
}

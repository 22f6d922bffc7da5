import { expect, it } from 'vitest';
import { runCommand } from '../support/shell-command.ts';

// The smallest load of commands that README and docs name; docs-commands.test.ts runs the quick ones.

it('`npm run bench:overload` measures a load and prints a table', async () => {
  const { exitCode, output } = await runCommand(
    'npm run bench:overload -- --scenario burst --mode shipped --seconds 1',
  );
  expect(exitCode, output).toBe(0);
  expect(output).toMatch(/^\| .+ \|$/m);
});

it('`npm run test:hostile` finds nothing, and prints its seed', async () => {
  const { exitCode, output } = await runCommand('npm run test:hostile -- --seconds 1');
  expect(exitCode, output).toBe(0);
  expect(output).toMatch(/^seed \d+/m);
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../src/cli/run.ts';
import { runCommand } from '../../support/command-output.ts';

describe('toncache', () => {
  it('lists its commands with --help', async () => {
    for (const args of [['--help'], ['-h'], ['help']]) {
      const { code, stdout } = await runCommand(args);
      expect(code).toBe(0);
      for (const [name, { summary }] of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${name} +${summary}$`, 'm'));
    }
  });

  it.each(['--version', '-v', '-V'])('shows its version with %s', async (option) => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(await runCommand([option])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it.each([[[]], [['strat']], [['toString']]])('exits 64 with the list of commands for %j', async (args) => {
    const { code, stdout, stderr } = await runCommand(args);
    expect([code, stdout]).toEqual([64, '']);
    expect(stderr).toContain('usage: toncache <command>');
  });

  it.each([
    ['strat', 'toncache has no command "strat": did you mean start?'],
    ['check-confg', 'toncache has no command "check-confg": did you mean check-config?'],
    ['toString', 'toncache has no command "toString"'],
  ])('suggests the command that was probably meant by %s, if there is one', async (given, words) => {
    expect((await runCommand([given])).stderr.split('\n')[0]).toBe(words);
  });

  it.each([
    [['check-config', '--jsno'], 'there is no option --jsno: did you mean --json?'],
    [['check-config', '-json'], 'there is no option -j: did you mean --json?'],
    [['purge', '--acount=hunter2'], 'there is no option --acount: did you mean --account?'],
    [['explain', 'x', '--heder', 'a: hunter2'], 'there is no option --heder: did you mean --header?'],
    [['verify', '--rat', '1', 'http://127.0.0.1:1'], 'there is no option --rat: did you mean --rate?'],
    [['simulator', '--prt=1'], 'there is no option --prt: did you mean --port?'],
    [['start', '--hlep'], 'there is no option --hlep: did you mean --help?'],
    [['start', '--toString'], 'there is no option --toString'],
    [['--versoin'], 'toncache has no command "--versoin": did you mean --version?'],
  ])('suggests the option that was probably meant by %j, if there is one', async (args, words) => {
    const { code, stderr } = await runCommand(args);
    expect([code, stderr.split('\n')[0]]).toEqual([64, words]);
  });

  it.each([...COMMANDS.keys()])('%s --help shows its usage, with an example and its exit codes', async (name) => {
    const { code, stdout, stderr } = await runCommand([name, '--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^usage: /);
    expect(stdout).toMatch(/^exit codes:/m);
    expect(stdout.split('\n').filter((line) => line.includes(name)).length, 'an example').toBeGreaterThan(0);
  });

  it.each([...COMMANDS.keys()])('prints the help of a command with help %s', async (name) => {
    const { stdout } = await runCommand([name, '--help']);
    expect(await runCommand(['help', name])).toEqual({ code: 0, stdout, stderr: '' });
  });

  it.each([...COMMANDS.keys()].filter((name) => name !== 'verify'))(
    '%s rejects an unknown option before it does anything',
    async (name) => {
      const { code, stdout, stderr } = await runCommand([name, '--frobnicate']);
      expect([code, stdout]).toEqual([64, '']);
      expect(stderr).toContain('--frobnicate');
      expect(stderr).toContain(`toncache ${name} --help`);
    },
  );

  it.each([
    ['explain'],
    ['explain', 'a', 'b'],
    ['help', 'strat'],
    ['purge', '--seqno', '1', '--admin', 'localhost:9464'],
    ['start', 'now'],
    ['demo', '10s'],
  ])('exits 64 for %s %s %s %s %s', async (...args) => {
    const { code, stderr } = await runCommand(args.filter((arg) => arg !== undefined));
    expect(code).toBe(64);
    expect(stderr).not.toContain('    at ');
  });

  it.each([
    ['purge', '--all'],
    ['explain', 'masterchainBlockShards?seqno=1'],
  ])('%s exits 69 if no toncache answers, and names the remedy', async (...args) => {
    const { code, stderr } = await runCommand(args, { env: { ADMIN_PORT: '9' } });
    expect(code).toBe(69);
    expect(stderr).toMatch(
      /^no toncache answers at http:\/\/127\.0\.0\.1:9 .*: start it, or name its admin port by --admin/,
    );
  });

  it.each([
    [[], /^nothing is named/],
    [['--seqno', 'x'], /^seqno is not valid/],
    [['--hash', '00'], /^hash is not valid/],
    [['--account', 'EQ'], /^account is not valid/],
    [['--seqno', '1', '--all'], /^seqno and all are given together/],
  ])('purge %j exits 64 before it looks for a toncache', async (args, words) => {
    const { code, stdout, stderr } = await runCommand(['purge', ...args], { env: { ADMIN_PORT: '9' } });
    expect([code, stdout]).toEqual([64, '']);
    expect(stderr).toMatch(words);
  });

  it.each([
    ['ten', /^--for must be 100ms to 24h, written like/],
    ['10', /^--for has no unit; write 10s$/m],
  ])('demo --for %s exits 64, and names the accepted form', async (time, words) => {
    const { code, stderr } = await runCommand(['demo', '--for', time]);
    expect(code).toBe(64);
    expect(stderr).toMatch(words);
  });

  it.each([[['purge', '--all']], [['demo']]])('%j exits 78 with all problems if settings are invalid', async (args) => {
    const { code, stderr } = await runCommand(args, { env: { ADMIN_PORT: 'x', PORT: 'y' } });
    expect(code).toBe(78);
    expect(stderr).toContain('ADMIN_PORT="x": ');
    expect(stderr).toContain('  PORT="y": ');
  });
});

import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readOptions } from '../bench/overload/options.ts';
import { commandsOf, PAGES, readPage } from '../support/documented-commands.ts';

/** Commands that docs-commands.slow.test.ts runs; addresses and durations are replaced. */
const RUN = [
  'npm run demo',
  'npm run demo -- --for 10s',
  'UPSTREAM_URL=http://indexer:8081 npm start',
  "curl -i 'http://127.0.0.1:8080/api/v3/masterchainBlockShards?seqno=62000000'",
  ...commandsOf(readPage('docs/operations.md')).filter((command) => command.startsWith('curl -X POST ')),
  'npm run verify -- https://indexer.example/api/v3',
  'npm run toncache -- --help',
  'npm run bench:overload',
  'npm run test:hostile',
];

/** Commands that no test runs, and what holds them right instead. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm ci': 'would replace what the tests run on; the first step of .ci/run',
  'npm test': 'runs this test',
  'npm test -- test/unit/ton': 'the folder exists (below)',
  'npm run test:slow': 'a step of .ci/run (below)',
  'npm run check': 'a step of .ci/run (below)',
  'curl -i "$UPSTREAM_URL/api/v3/masterchainInfo"': 'asks an indexer of the reader',
  'npm run docs': 'test/unit/config/render-docs.test.ts compares what it writes',
  '.ci/run': 'runs this test; it can be executed (below)',
  'npm run bench': 'takes a minute of the whole machine',
  'npm run bench:compare -- --with ../other-checkout': 'needs another checkout, and minutes of the whole machine',
  'npm run bench:fleet': 'takes three minutes of the whole machine',
  'npm run bench:memory': 'takes minutes of the whole machine',
  'npm run bench:peers': 'takes minutes of the whole machine',
  'npm run bench:peers -- --rounds 2 --seconds 1': 'needs other caches, which may not be installed',
  'npm run bench:peers -- --only misses --rounds 2 --seconds 1 --toncache . --toncache "node test/bench/peers/least-miss.ts"':
    'needs other caches, which may not be installed',
  'npm run truth': 'a step of .ci/run',
  'npm run truth -- --minutes 10 --faults all': 'takes ten minutes; .ci/run runs it with fewer',
  'npm run truth -- --stream': 'takes 20 s; .ci/run runs it with a fault of the stream',
  'npm run truth -- --minutes 10 --seed 14 --stream --faults redis-killed':
    'takes ten minutes; .ci/run runs it with fewer',
  'npm run truth -- --minutes 1 --seed 14': 'takes a minute; .ci/run runs it with fewer',
  'npm test -- test/e2e/stream.test.ts': 'one of the tests that this test is run with',
  'npm run bench:workload': 'takes minutes of the whole machine',
  'npm run bench:workload -- --stream': 'takes minutes of the whole machine',
  'npm run bench:overload -- --scenario steady,burst,closed-loop,pages,slow,hang,wallets --mode shipped --seconds 6 --loads 0.5,5,10':
    'takes minutes; its options are read (below)',
  'npm run bench:overload -- --scenario burst,closed-loop': 'takes minutes; its options are read (below)',
  'docker build -t toncache .':
    'needs Docker; test/integration/healthcheck.slow.test.ts and the tests of production files',
  'docker run --read-only -e UPSTREAM_URL=http://indexer:8081 -e REDIS_URL=redis://redis:6379 -p 8080:8080 toncache':
    'needs Docker; its variables and its port exist (test/unit/docs-examples.test.ts)',
};

const PACKAGED = 'test/integration/package.slow.test.ts packs, installs the tarball and runs it';
const FOLLOWED = 'needs Docker; test/integration/image.slow.test.ts follows the Dockerfile without it';
const NEEDS_DOCKER = 'needs Docker; docs/deployment.md says what is tested instead';

/** The same of deployment and of the command line tool. */
const NOT_RUN_DEPLOYMENT: Readonly<Record<string, string>> = {
  'npm install --global ./toncache-0.1.0.tgz': PACKAGED,
  'npm pack': PACKAGED,
  'npm publish': PACKAGED,
  'npm run build': PACKAGED,
  'npx toncache <command>': PACKAGED,
  'UPSTREAM_URL=http://indexer:8081 toncache start': PACKAGED,
  'npm start': 'run with its address (above)',
  'npm run toncache -- <command>': 'stands for the commands of test/e2e/command-line.test.ts',
  'docker exec <container> node dist/cli/main.js <command>': FOLLOWED,
  'docker run --read-only -e UPSTREAM_URL=http://indexer:8081 -p 8080:8080 toncache': FOLLOWED,
  "docker run toncache explain --offline 'masterchainBlockShards?seqno=62000000'": FOLLOWED,
  'docker compose up': NEEDS_DOCKER,
  'UPSTREAM_URL=http://indexer:8081 docker compose -f config/deploy/compose.yaml up --build': NEEDS_DOCKER,
  'kubectl apply -n ton -f config/deploy/kubernetes/shared.yaml':
    'needs a cluster; test/unit/deploy/kubernetes.test.ts',
  'cp config/deploy/systemd/toncache.service /etc/systemd/system/': 'changes the machine; the file exists',
  'systemctl enable --now toncache': 'changes the machine; test/integration/deploy.slow.test.ts verifies the unit',
};

const DOCUMENTED = [...new Set(PAGES.flatMap((page) => commandsOf(readPage(page))))];

describe('the documented commands', () => {
  it('are all run by a test, or listed here with a reason', () => {
    expect(DOCUMENTED.toSorted()).toEqual(
      [...new Set([...RUN, ...Object.keys(NOT_RUN), ...Object.keys(NOT_RUN_DEPLOYMENT)])].toSorted(),
    );
  });

  it('name files and steps that exist', () => {
    expect(existsSync('test/unit/ton')).toBe(true);
    accessSync('.ci/run', constants.X_OK);
    expect(() => execFileSync('bash', ['-n', '.ci/run'])).not.toThrow();
    for (const step of ['npm ci', 'npm run check', 'npm run truth', ' test\n', ' test:slow\n'])
      expect(readPage('.ci/run')).toContain(step);
  });

  it('give bench:overload options that it knows', () => {
    const benches = DOCUMENTED.filter((command) => command.startsWith('npm run bench:overload -- '));
    expect(benches.length).toBeGreaterThan(0);
    for (const bench of benches) {
      const [, options = ''] = bench.split(' -- ');
      expect(readOptions(options.split(' ')).trials.length).toBeGreaterThan(0);
    }
  });
});

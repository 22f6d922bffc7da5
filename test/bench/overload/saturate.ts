import { HOT_CALLS } from './calls.ts';
import { Connections } from './connections.ts';

// A process: keeps so many requests open all the time, whatever is answered, and counts the answers.

/** The argument, as JSON. */
export interface SaturationOrder {
  readonly port: number;
  readonly open: number;
  readonly seconds: number;
}

/** What it prints, as JSON. */
export interface Saturation {
  readonly answersPerSecond: number;
  readonly cpuMicrosPerAnswer: number;
}

const WARM_UP_MS = 1000;

const order: SaturationOrder = JSON.parse(process.argv[2] ?? '');
const connections = new Connections(order.port);
let asked = 0;
let answered = 0;

for (let number = 0; number < order.open; number++) ask();
setTimeout(measure, WARM_UP_MS);

function ask(): void {
  connections.ask(HOT_CALLS[asked++ % HOT_CALLS.length]?.target ?? '/', (heard) => {
    if ('lost' in heard) throw new Error(heard.lost);
    answered++;
    ask();
  });
}

function measure(): void {
  answered = 0;
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  setTimeout(() => {
    const { user, system } = process.cpuUsage(cpu);
    const result: Saturation = {
      answersPerSecond: answered / ((performance.now() - startedAt) / 1000),
      cpuMicrosPerAnswer: (user + system) / answered,
    };
    console.log(JSON.stringify(result));
    process.exit();
  }, order.seconds * 1000);
}

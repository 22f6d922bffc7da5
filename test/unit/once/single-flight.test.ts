import { expect, test } from 'vitest';
import { type Flight, type FlightWaiter, SingleFlight } from '../../../src/once/single-flight.ts';

const waiter = (): FlightWaiter => ({ reason: undefined, onEnd: undefined });

/** Flights on a clock of the test; each load is kept open. */
function world() {
  let at = 0;
  const loads: Flight[] = [];
  const flights = new SingleFlight<string>({
    onFollowed: () => {},
    keptMs: () => 0,
    now: () => at,
    collapseWindowMs: 1000,
  });
  const load = (flight: Flight) => {
    loads.push(flight);
    return new Promise<string>(() => {});
  };
  return {
    loads,
    advance: (ms: number) => {
      at += ms;
    },
    join: (sentWithinMs?: number) => void flights.join('key', waiter(), load, sentWithinMs),
  };
}

test('a flight whose request waits can be joined for the whole window, and then for a time after it was sent', () => {
  const { loads, advance, join } = world();
  join(100);
  advance(500);
  join(100);
  expect(loads).toHaveLength(1);
  loads[0]?.depart();
  advance(99);
  join(100);
  expect(loads).toHaveLength(1);
  advance(1);
  join(100);
  expect(loads).toHaveLength(2);
});

test('a second try does not prolong the time, and no time goes beyond the window', () => {
  const { loads, advance, join } = world();
  join(100);
  loads[0]?.depart();
  advance(60);
  loads[0]?.depart();
  advance(40);
  join(100);
  expect(loads).toHaveLength(2);
  advance(950);
  loads[1]?.depart();
  advance(50);
  join(100);
  expect(loads).toHaveLength(3);
});

test('without a limit the window counts from the start of the flight', () => {
  const { loads, advance, join } = world();
  join();
  loads[0]?.depart();
  advance(999);
  join();
  expect(loads).toHaveLength(1);
  advance(1);
  join();
  expect(loads).toHaveLength(2);
});

import { expect, it } from 'vitest';
import { eventsMemory } from './memory-limit.ts';

const GIB = 2 ** 30;

it.each([
  ['as the settings say', { setting: GIB, container: 2 ** 64, machine: 16 * GIB }, GIB],
  ['without a container', { setting: GIB, container: 0, machine: 16 * GIB }, GIB],
  ['a small container', { setting: GIB, container: GIB, machine: 16 * GIB }, 0.4 * GIB],
  ['a small machine', { setting: GIB, container: 0, machine: 2 * GIB }, 0.5 * GIB],
  ['none', { setting: 0, container: 0, machine: 16 * GIB }, 0],
])('memory for events: %s', (_, memory, bytes) => {
  expect(eventsMemory(memory)).toBe(Math.floor(bytes));
});

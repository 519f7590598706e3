import { readFileSync, writeFileSync } from 'node:fs';
import { cpuOf } from '../server-process.ts';

/** What processes use from `watch` on; those of services that were started again count anew. */
export class ProcessUse {
  readonly #began: ReadonlyMap<string, { pid: number; cpu: number }>;

  private constructor(began: ReadonlyMap<string, { pid: number; cpu: number }>) {
    this.#began = began;
  }

  /** @param pids by name */
  static watch(pids: ReadonlyMap<string, number>): ProcessUse {
    for (const pid of pids.values())
      // The highest resident size is counted from here on (proc(5)).
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
    return new ProcessUse(
      new Map([...pids].map(([name, pid]) => [name, { pid, cpu: cpuOf(pid) }])),
    );
  }

  /** CPU time, s, and the highest resident size, MB, by name. */
  read(): { name: string; cpu: number; mb: number }[] {
    return [...this.#began].map(([name, { pid, cpu }]) => ({
      ...{ name, cpu: (cpuOf(pid) - cpu) / 1000, mb: highestMb(pid) },
    }));
  }
}

function highestMb(pid: number): number {
  const [, kb = '0'] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kb) / 1024);
}

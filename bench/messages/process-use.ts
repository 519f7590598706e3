import { readFileSync, writeFileSync } from 'node:fs';
import { cpuOf } from '../server-process.ts';

interface Watched {
  pid: number;
  /** ms, before */
  cpu: number;
  /** Highest size without mapped files, MB. */
  anonymousMb: number;
}

/** Between two looks at anonymous memory, of which the system keeps no highest size, ms. */
const SAMPLE_MS = 250;

/** What processes use from `watch` on; those of services that were started again count anew. */
export class ProcessUse {
  readonly #began: ReadonlyMap<string, Watched>;

  private constructor(began: ReadonlyMap<string, Watched>) {
    this.#began = began;
    const sample = () => {
      for (const one of began.values())
        one.anonymousMb = Math.max(one.anonymousMb, megabytes(one.pid, 'RssAnon'));
    };
    setInterval(sample, SAMPLE_MS).unref();
  }

  /** @param pids by name */
  static watch(pids: ReadonlyMap<string, number>): ProcessUse {
    for (const pid of pids.values())
      // The highest resident size is counted from here on (proc(5)).
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
    return new ProcessUse(
      new Map([...pids].map(([name, pid]) => [name, { pid, cpu: cpuOf(pid), anonymousMb: 0 }])),
    );
  }

  /**
   * CPU time, s, and the highest resident size, MB, by name: all of it, and without mapped files
   * such as the program itself.
   */
  read(): { name: string; cpu: number; mb: number; anonymousMb: number }[] {
    return [...this.#began].map(([name, { pid, cpu, anonymousMb }]) => ({
      ...{ name, cpu: (cpuOf(pid) - cpu) / 1000, mb: megabytes(pid, 'VmHWM') },
      anonymousMb: Math.max(anonymousMb, megabytes(pid, 'RssAnon')),
    }));
  }
}

/** 0: the process has ended. */
function megabytes(pid: number, size: 'VmHWM' | 'RssAnon'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [, kb = '0'] = new RegExp(`^${size}:\\s+(\\d+)`, 'm').exec(status) ?? [];
    return Math.round(Number(kb) / 1024);
  } catch {
    return 0;
  }
}

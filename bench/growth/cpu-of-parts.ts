import { readdirSync, readFileSync } from 'node:fs';
import { cpuOf, pidsByName } from '../server-process.ts';

/** CPU time of each part so far, ms. */
type CpuByPart = ReadonlyMap<string, number>;

/** CPU time of the stack's parts on this machine, with their child processes (PostgreSQL). */
export async function cpuByPart(): Promise<() => CpuByPart> {
  const pids = await pidsByName();
  return () => {
    const children = Map.groupBy(processes(), ({ parent }) => parent);
    const cpuOfTree = (pid: number): number =>
      cpuOrNothing(pid) +
      (children.get(pid) ?? []).reduce((sum, child) => sum + cpuOfTree(child.pid), 0);
    return new Map([...pids].map(([name, pid]) => [name, cpuOfTree(pid)]));
  };
}

function processes(): { pid: number; parent: number }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const parent = parentOf(name);
      return parent === undefined ? [] : [{ pid: Number(name), parent }];
    });
}

function parentOf(pid: string): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '');
    return Number(fields.split(' ')[1]);
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

function cpuOrNothing(pid: number): number {
  try {
    return cpuOf(pid);
  } catch {
    return 0;
  }
}

/** CPU time between two readings, ms. */
export function cpuBetween(before: CpuByPart, after: CpuByPart): Map<string, number> {
  return new Map([...after].map(([name, cpu]) => [name, cpu - (before.get(name) ?? cpu)]));
}

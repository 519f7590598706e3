import { readdirSync, readFileSync } from 'node:fs';

const IDLE_MS = 500;

/** CPU of the threads of a process that live, ms. ClickHouse keeps those that run statements. */
function cpuOfThreads(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    try {
      const [ns = '0'] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
      return sum + Number(ns) / 1e6;
    } catch {
      return sum;
    }
  }, 0);
}

/** CPU per ms while nothing is asked. */
async function idle(pid: number): Promise<number> {
  const [cpu, at] = [cpuOfThreads(pid), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  return (cpuOfThreads(pid) - cpu) / (performance.now() - at);
}

/** CPU time of ClickHouse for what `ask` does, ms; what it does anyway is taken off. */
export async function clickhouseCpu(pid: number, ask: () => Promise<unknown>): Promise<number> {
  const rate = await idle(pid);
  const [cpu, at] = [cpuOfThreads(pid), performance.now()];
  await ask();
  return cpuOfThreads(pid) - cpu - rate * (performance.now() - at);
}

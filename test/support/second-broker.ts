import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endWithTest } from './end-with-test.ts';
import { freePort } from './service-process.ts';

const run = promisify(execFile);

/** Another broker of the stack's Kafka, which a test can stop while the first one runs. */
export class SecondBroker {
  static readonly id = 2;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(folder: string, process: ChildProcess) {
    this.#folder = folder;
    this.#process = process;
  }

  /** Undefined when Kafka is no process of this stack. */
  static async start(): Promise<SecondBroker | undefined> {
    const home = process.env['RAVAND_HOME'] ?? '';
    const libs = process.env['RAVAND_KAFKA_LIBS'] ?? '';
    const first = join(home, 'run', 'kafka.properties');
    if (!existsSync(first) || libs === '' || process.env['TEST_SERVICES'] === 'containers')
      return undefined;
    const folder = await mkdtemp(join(tmpdir(), 'ravand-broker-'));
    const properties = join(folder, 'broker.properties');
    const address = `CLIENTS://127.0.0.1:${await freePort()}`;
    // As the first broker, with its passwords; a later line replaces an earlier one.
    const own = {
      'process.roles': 'broker',
      'node.id': SecondBroker.id,
      listeners: address,
      'advertised.listeners': address,
      'log.dirs': join(folder, 'logs'),
    };
    const lines = Object.entries(own).map(([name, value]) => `${name}=${value}\n`);
    const text = `${readFileSync(first, 'utf8')}\n${lines.join('')}`;
    await writeFile(properties, text, { mode: 0o600 });
    const java = ['-XX:TieredStopAtLevel=1', '-Xmx256m', '-cp', join(libs, '*')];
    const cluster = readFileSync(join(home, 'data', 'kafka-cluster-id'), 'utf8').trim();
    const format = ['kafka.tools.StorageTool', 'format', '-t', cluster, '-c', properties];
    await run('java', [...java, ...format], { timeout: 60_000 });
    const child = spawn('java', [...java, 'kafka.Kafka', properties], { stdio: 'ignore' });
    endWithTest(child);
    return new SecondBroker(folder, child);
  }

  /** It answers nothing, and its connections stay open. */
  pause(): void {
    this.#process.kill('SIGSTOP');
  }

  resume(): void {
    this.#process.kill('SIGCONT');
  }

  async remove(): Promise<void> {
    this.resume();
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit');
      this.#process.kill('SIGKILL');
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

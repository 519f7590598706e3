interface Run<T> {
  running: Promise<T>;
  next: Promise<T> | undefined;
}

const runs = new WeakMap<object, Map<string, Run<unknown>>>();

/**
 * What `read` resolves with. Reads of one name that are asked for while one runs become a single
 * one, which begins when that has ended: so each answer is as of a time after it was asked for. A
 * process that gets hundreds of partitions at once asks for the same of each of them; read one by
 * one, they would wait for a connection longer than a query may take.
 * @param of what is read from, such as a pool of connections
 */
export function sharedRead<T>(of: object, name: string, read: () => Promise<T>): Promise<T> {
  const named = runs.get(of) ?? new Map<string, Run<unknown>>();
  runs.set(of, named);
  const current = named.get(name) as Run<T> | undefined;
  if (current) return (current.next ??= current.running.then(start, start));
  return start();

  function start(): Promise<T> {
    const run: Run<T> = { running: read(), next: undefined };
    named.set(name, run);
    const end = () => {
      if (run.next === undefined) named.delete(name);
    };
    run.running.then(end, end);
    return run.running;
  }
}

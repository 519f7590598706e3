/** Shares of what there is: counting takes half as much besides, and the process has its own. */
const OF_CONTAINER = 0.4;
const OF_MACHINE = 0.25;

interface Memory {
  /** REPORT_EVENTS_MEMORY, bytes. */
  setting: number;
  /** Limit of the container, bytes; 0, or more than the machine has: none. */
  container: number;
  /** Of the machine, bytes. */
  machine: number;
}

/** Memory for the events of reports, bytes: a report must not be what ends its process. */
export function eventsMemory({ setting, container, machine }: Memory): number {
  const limits = [
    setting,
    machine * OF_MACHINE,
    container > 0 ? container * OF_CONTAINER : Infinity,
  ];
  return Math.floor(Math.min(...limits));
}

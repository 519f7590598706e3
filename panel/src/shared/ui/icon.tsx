/** Paths on a grid of 24, drawn with the colour of the text. */
const PATHS = {
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'm6 6 12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  up: 'm6 14 6-6 6 6',
  down: 'm6 10 6 6 6-6',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  warning: 'M12 4 2.8 20h18.4zM12 10v4.5M12 17.3v.2',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  empty: 'M4 13.5 7 5h10l3 8.5V19H4zM4 13.5h5l1.5 2.5h3l1.5-2.5h5',
  overview: 'M4 13h4v7H4zM10 4h4v16h-4zM16 9h4v11h-4z',
  dashboard: 'M4 4h7v8H4zM13 4h7v5h-7zM13 11h7v9h-7zM4 14h7v6H4z',
  window: 'M4 5h16v14H4zM4 9h16M8 13h8M8 16h5',
  shorten: 'M4 12h6M14 12h6M10 8v8M14 8v8',
  live: 'M3 12h4l3-8 4 16 3-8h4',
  trends: 'M4 18 9 11l4 4 7-10M15 5h5v5',
  paths: 'M5 5v5a4 4 0 0 0 4 4h6a4 4 0 0 1 4 4v1M5 10v9M16 16l3 3 3-3',
  template: 'M5 4h14v16H5zM8 8h8M8 12h8M8 16h5',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5',
  send: 'M3 11.5 21 4l-7 17-3-7z',
  link: 'M9.5 14.5l5-5M8 11l-2.5 2.5a3.5 3.5 0 0 0 5 5L13 16M16 13l2.5-2.5a3.5 3.5 0 0 0-5-5L11 8',
  download: 'M12 4v11M7 11l5 5 5-5M4 20h16',
  funnel: 'M4 5h16l-6 7.5V19l-4 1.5v-8z',
  retention: 'M4 4h16v16H4zM4 9.3h16M4 14.6h16M9.3 4v16M14.6 4v16',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20c.4-3.6 3-5.5 6.5-5.5s6.1 1.9 6.5 5.5M16 4.3a3.5 3.5 0 0 1 0 6.4M18 14.9c2 .8 3.2 2.5 3.5 5.1',
  key: 'M8 16.5a4.5 4.5 0 1 1 3.7-7.1L21 9.5V13h-2.5v2.5h-3V13h-3.3A4.5 4.5 0 0 1 8 16.5ZM7.8 12v.1',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.1M4 12h.1M4 18h.1',
  gauge: 'M4 18a9 9 0 1 1 16 0M12 14l4-5M12 14v.1',
  person: 'M12 11.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4 20.5c.6-4 3.6-6 8-6s7.4 2 8 6',
  bookmark: 'M6 4h12v17l-6-4.5L6 21z',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.8 1.8M17.2 17.2 19 19M19 5l-1.8 1.8M6.8 17.2 5 19',
  calendar: 'M4 6h16v14H4zM4 10.5h16M8.5 3.5V8M15.5 3.5V8',
  out: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
} as const;

export type IconName = keyof typeof PATHS;

/** Decorative: what it means is in the text beside it or in the label of its button. */
export function Icon({ name, size = '1.25em' }: { name: IconName; size?: string }) {
  return (
    <svg
      viewBox="0 0 24 24"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

import { useLayoutEffect, useState, type Dispatch, type SetStateAction } from 'react';

interface FormerField {
  value: string;
  setValue: Dispatch<SetStateAction<string>>;
}

/** What people are at in the document: React removes it before the field in its place is there. */
let current: EventTarget | null = null;
if (!import.meta.env.SSR) {
  current = document.activeElement;
  for (const type of ['focusin', 'pointerdown'])
    document.addEventListener(type, ({ target }) => {
      current = target;
    });
}

/**
 * The value of a field that may be in the document already, where people type before the
 * application comes: what they have typed when it is replaced is kept, and so is the focus, so that
 * the rest of a password goes into no other field.
 */
export function useFormerField(name: string): FormerField {
  const [value, setValue] = useState('');
  const [former] = useState(() => (import.meta.env.SSR ? null : fieldNamed(name)));
  useLayoutEffect(() => {
    if (!former) return;
    // eslint-disable-next-line react-hooks/set-state-in-effect -- typed until the very commit
    setValue(former.value);
    if (current === former) fieldNamed(name)?.focus();
  }, [former, name]);
  return { value, setValue };
}

function fieldNamed(name: string): HTMLInputElement | null {
  return document.querySelector<HTMLInputElement>(`input[name="${name}"]`);
}

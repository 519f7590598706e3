import { useLayoutEffect, useState, type Dispatch, type SetStateAction } from 'react';

interface FormerField {
  value: string;
  setValue: Dispatch<SetStateAction<string>>;
  /** The one that it takes the place of had the focus. */
  hasFocus: boolean;
}

/**
 * The value of a field that may be in the document already, where people type before the
 * application comes: what they have typed when it is replaced is kept.
 */
export function useFormerField(name: string): FormerField {
  const [value, setValue] = useState('');
  const [{ former, hasFocus }] = useState(() => formerField(name));
  useLayoutEffect(() => {
    // eslint-disable-next-line react-hooks/set-state-in-effect -- typed until the very commit
    if (former) setValue(former.value);
  }, [former]);
  return { value, setValue, hasFocus };
}

function formerField(name: string): { former: HTMLInputElement | null; hasFocus: boolean } {
  if (import.meta.env.SSR) return { former: null, hasFocus: false };
  const former = document.querySelector<HTMLInputElement>(`input[name="${name}"]`);
  return { former, hasFocus: former !== null && document.activeElement === former };
}

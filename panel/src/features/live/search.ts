/** The state of the page of live events: what is shown, as its URL has it. */
export interface LiveSearch {
  event?: string;
  person?: string;
  message?: string;
}

export function readLiveSearch(search: Record<string, unknown>): LiveSearch {
  const text = (name: keyof LiveSearch) => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? { [name]: value } : {};
  };
  return { ...text('event'), ...text('person'), ...text('message') };
}

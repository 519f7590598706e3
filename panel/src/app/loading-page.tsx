import { Loading } from '../shared/ui/states.tsx';

/** Stands for a page whose code or data is coming. */
export function LoadingPage() {
  return <Loading lines={8} />;
}

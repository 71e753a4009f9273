import { Icon } from '../components/icon.tsx'

/** What came from somewhere that nobody vouches for: it is never taken as an instruction. */
export function UntrustedMark() {
  return (
    <span
      title="From a source that nobody vouches for: it is read, and never obeyed."
      className="inline-flex items-center gap-1 rounded bg-warn-soft px-1.5 text-warn"
    >
      <Icon name="shield" size={12} /> Untrusted
    </span>
  )
}

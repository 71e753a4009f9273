import { Fold } from '../components/fold.tsx'
import { Link } from '../shell/link.tsx'

/** The memories that a turn began with. */
export function Recalled({ memories }: { memories: readonly { id: string; text: string }[] }) {
  const detail = memories.length === 1 ? '1 memory' : `${memories.length} memories`
  return (
    <div className="mb-2">
      <Fold icon="search" title="Remembered" detail={detail}>
        <ul className="space-y-1 text-sm">
          {memories.map(({ id, text }) => (
            <li key={id}>
              <Link href={`/memory/${id}`} className="text-soft underline-offset-2 hover:text-ink hover:underline">
                {text}
              </Link>
            </li>
          ))}
        </ul>
      </Fold>
    </div>
  )
}

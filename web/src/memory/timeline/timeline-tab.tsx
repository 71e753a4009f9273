import { Empty, Failure } from '../../components/notice.tsx'
import { usePlace } from '../../shell/router.ts'
import { LoadMore } from '../load-more.tsx'
import { MemoryRow } from '../memory-row.tsx'
import { setQuery } from '../set-query.ts'
import { formatLongDay } from '../times.ts'
import { useMemoryPages } from '../use-memory-pages.ts'
import { byDay } from './days.ts'

export function TimelineTab() {
  const { query } = usePlace()
  const withPassages = query.get('passages') === 'true'
  const pages = useMemoryPages({ passages: withPassages })
  return (
    <>
      <label className="mb-3 flex min-h-9 items-center gap-2 text-sm">
        <input
          type="checkbox"
          checked={withPassages}
          onChange={(event) => setQuery(query, { passages: event.target.checked ? 'true' : '' })}
        />
        With the passages of conversations and files
      </label>
      {pages.error && <Failure error={pages.error} onRetry={pages.refresh} />}
      {pages.memories.length === 0 && !pages.isLoading && !pages.error && (
        <Empty title="Nothing has been written down yet">
          What you tell Familiar, and what it learns, stands here day by day.
        </Empty>
      )}
      {byDay(pages.memories).map(({ key, memories }) => (
        <section key={key} className="mb-6">
          <h2 className="sticky top-0 z-10 bg-ground py-1.5 text-sm font-semibold">
            {formatLongDay(memories[0]?.created_at ?? key)}
          </h2>
          <ul className="border-s-2 border-line ps-4">
            {memories.map((memory) => (
              <MemoryRow key={memory.id} memory={memory} showsHour />
            ))}
          </ul>
        </section>
      ))}
      {pages.hasMore && <LoadMore isLoading={pages.isLoading} onMore={pages.more} />}
    </>
  )
}

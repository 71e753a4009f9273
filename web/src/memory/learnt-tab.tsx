import { Button } from '../components/button.tsx'
import { SelectField } from '../components/field.tsx'
import { Icon } from '../components/icon.tsx'
import { Empty, Failure } from '../components/notice.tsx'
import { usePlace } from '../shell/router.ts'
import { LoadMore } from './load-more.tsx'
import { MemoryRow } from './memory-row.tsx'
import { setQuery } from './set-query.ts'
import { startOfDay } from './times.ts'
import { useCorrections } from './use-corrections.ts'
import { useMemoryPages } from './use-memory-pages.ts'
import { shownContent } from './words.ts'

const spans = [
  { value: '', label: 'Today' },
  { value: 'week', label: 'The last seven days' },
  { value: 'all', label: 'All that waits for a word' },
]

/** What Familiar wrote down by itself: to say that it is so, or to have it forgotten. */
export function LearntTab() {
  const { query } = usePlace()
  const span = query.get('since') ?? ''
  const from = span === 'all' ? undefined : startOfDay(span === 'week' ? 6 : 0)
  const pages = useMemoryPages({ source: 'extracted', passages: false, from })
  const { keep, forget } = useCorrections()

  async function decide(id: string, change: typeof keep): Promise<void> {
    if (await change(id, pages.refresh)) pages.remove(id)
  }

  return (
    <>
      <div className="mb-3 flex flex-wrap items-end justify-between gap-3">
        <p className="max-w-xl text-sm text-soft">
          What Familiar kept by itself from conversations. What you accept becomes your own word, which it never changes
          without asking; what you reject is forgotten.
        </p>
        <SelectField
          label="Since"
          isLabelHidden
          className="w-56"
          choices={spans}
          value={span}
          onChange={(value) => setQuery(query, { since: value })}
        />
      </div>
      {pages.error && <Failure error={pages.error} onRetry={pages.refresh} />}
      {pages.memories.length === 0 && !pages.isLoading && !pages.error && (
        <Empty title={span === '' ? 'Nothing new was learnt today' : 'Nothing waits for a word'}>
          After a conversation Familiar writes down what is worth keeping. It stands here until you say something to it.
        </Empty>
      )}
      <ul aria-label="Learnt">
        {pages.memories.map((memory) => {
          const name = shownContent(memory).slice(0, 60)
          return (
            <MemoryRow key={memory.id} memory={memory}>
              <div className="mt-2 flex gap-2">
                <Button size="small" aria-label={`Accept: ${name}`} onClick={() => void decide(memory.id, keep)}>
                  <Icon name="check" size={14} /> Accept
                </Button>
                <Button
                  size="small"
                  kind="quiet"
                  aria-label={`Reject: ${name}`}
                  onClick={() => void decide(memory.id, forget)}
                >
                  <Icon name="close" size={14} /> Reject
                </Button>
              </div>
            </MemoryRow>
          )
        })}
      </ul>
      {pages.hasMore && <LoadMore isLoading={pages.isLoading} onMore={pages.more} />}
    </>
  )
}

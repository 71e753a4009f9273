import { type FormEvent, useEffect, useState } from 'react'
import type { MemorySearchReply } from '../../../../src/protocol/memory-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Empty, Failure } from '../../components/notice.tsx'
import { usePlace } from '../../shell/router.ts'
import { LoadMore } from '../load-more.tsx'
import { MemoryRow } from '../memory-row.tsx'
import { setQuery } from '../set-query.ts'
import { useMemoryPages } from '../use-memory-pages.ts'
import { DeepRecall } from './deep-recall.tsx'
import { FilterBar, filterOf } from './filter-bar.tsx'
import { WhyView } from './why-view.tsx'

export function SearchTab() {
  const { query } = usePlace()
  const question = query.get('q') ?? ''
  const [typed, setTyped] = useState(question)
  useEffect(() => setTyped(question), [question])

  function submit(event: FormEvent): void {
    event.preventDefault()
    setQuery(query, { q: typed.trim() })
  }

  return (
    <>
      <search>
        <form className="mb-3 flex items-end gap-2" onSubmit={submit}>
          <TextField
            label="Ask memory"
            isLabelHidden
            type="search"
            className="flex-1"
            placeholder="Ask memory as you would ask a person"
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value)
              // An emptied question is the list again.
              if (event.target.value === '') setQuery(query, { q: '' })
            }}
          />
          <Button type="submit" kind="main">
            <Icon name="search" size={16} /> Search
          </Button>
        </form>
        <FilterBar />
      </search>
      <div className="mt-4">{question === '' ? <MemoryList /> : <SearchResults question={question} />}</div>
    </>
  )
}

function SearchResults({ question }: { question: string }) {
  const { query } = usePlace()
  const filter = filterOf(query)
  const answer = useAnswer<MemorySearchReply>('/memories/search', {
    query: { q: question, explain: true, limit: 30, ...filter },
  })
  if (answer.error) return <Failure error={answer.error} onRetry={answer.refresh} />
  if (!answer.data) return <p className="breathing text-soft">Searching …</p>
  const { results } = answer.data
  return (
    <>
      <p role="status" className="text-sm text-soft">
        {results.length === 1 ? '1 memory speaks to it.' : `${results.length} memories speak to it, best first.`}
      </p>
      <DeepRecall question={question} />
      {results.length === 0 && (
        <Empty title="Nothing known speaks to that">Memory does not guess. Try other words, or fewer filters.</Empty>
      )}
      <ol aria-label="Found">
        {results.map(({ memory, why, score }) => (
          <MemoryRow key={memory.id} memory={memory}>
            {why && <WhyView why={why} score={score} />}
          </MemoryRow>
        ))}
      </ol>
    </>
  )
}

function MemoryList() {
  const { query } = usePlace()
  const filter = filterOf(query)
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const pages = useMemoryPages(filter)
  return (
    <>
      {pages.error && <Failure error={pages.error} onRetry={pages.refresh} />}
      {pages.memories.length === 0 && !pages.isLoading && !pages.error && (
        <Empty title={isFiltered ? 'Nothing fits these filters' : 'Nothing is remembered yet'}>
          {isFiltered
            ? 'Take one of them away to see more.'
            : 'Tell Familiar something in a conversation: “remember that I am allergic to shellfish”.'}
        </Empty>
      )}
      <ul aria-label="Memories">
        {pages.memories.map((memory) => (
          <MemoryRow key={memory.id} memory={memory} />
        ))}
      </ul>
      {pages.hasMore && <LoadMore isLoading={pages.isLoading} onMore={pages.more} />}
    </>
  )
}

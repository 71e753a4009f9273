import { type FormEvent, useEffect, useState } from 'react'
import type { DeepProgressReply, MemorySearchReply } from '../../../src/protocol/memory.ts'
import { callRaw, type Input, type Reply, useAnswer } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import { Empty, Failure, Notice } from '../components/feedback.tsx'
import { SelectField, TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Fold, Panel } from '../components/layout.tsx'
import { Markdown } from '../components/markdown.tsx'
import { usePlace } from '../shell/router.tsx'
import { formatDecimal, formatList } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { withProgress } from './corrections.tsx'
import {
  kindChoices,
  LoadMore,
  MemoryListItem,
  retentionChoices,
  setQuery,
  sourceChoices,
  useMemoryPages,
} from './memory-list.tsx'

type State =
  | { kind: 'not_asked' }
  | { kind: 'asking'; progress: DeepProgressReply | undefined }
  | { kind: 'answered'; reply: Reply<'memories.deep'> }
  | { kind: 'failed'; error: Error }

/** Deep search: several searches, linked memories, and a summary by a model. */
function DeepRecall({ question }: { question: string }) {
  const [asked, setAsked] = useState<string>()
  const [state, setState] = useState<State>({ kind: 'not_asked' })

  useEffect(() => {
    if (asked !== question) return setState({ kind: 'not_asked' })
    const controller = new AbortController()
    const { signal } = controller
    setState({ kind: 'asking', progress: undefined })
    withProgress<DeepProgressReply, Reply<'memories.deep'>>(
      callRaw('memories.deep', { question }, { accept: 'text/event-stream', signal }),
      (progress) => setState({ kind: 'asking', progress }),
    ).then(
      (reply) => setState({ kind: 'answered', reply }),
      (error: Error) => {
        if (!signal.aborted) setState({ kind: 'failed', error })
      },
    )
    return () => controller.abort()
  }, [asked, question])

  return (
    <div className="my-3" aria-live="polite">
      {state.kind === 'not_asked' && (
        <Button size="small" onClick={() => setAsked(question)}>
          <Icon name="brain" size={14} /> {t.search.deepSearchSummarize}
        </Button>
      )}
      {state.kind === 'asking' && (
        <p className="text-sm text-soft">
          <span className="breathing">{described(state.progress)}</span>{' '}
          <Button size="small" kind="quiet" onClick={() => setAsked(undefined)}>
            {t.common.stop}
          </Button>
        </p>
      )}
      {state.kind === 'failed' && <Failure error={state.error} onRetry={() => setAsked(undefined)} />}
      {state.kind === 'answered' && <Answer reply={state.reply} />}
    </div>
  )
}

function Answer({ reply: { summary, searches, memories, notes } }: { reply: Reply<'memories.deep'> }) {
  return (
    <Panel>
      <Markdown text={summary} />
      <p className="mt-3 text-xs text-soft">{t.search.fromMemoriesSearches(memories.length, searches.join(' · '))}</p>
      {notes.map((note) => (
        <div key={note} className="mt-2">
          <Notice>{note}</Notice>
        </div>
      ))}
    </Panel>
  )
}

function described(progress: DeepProgressReply | undefined): string {
  switch (progress?.status) {
    case 'searching':
      return t.search.runningSearches(progress.searches.length)
    case 'found':
      return t.search.foundSummarizing(progress.count)
    default:
      return t.search.rephrasingTheQuestion
  }
}

const names = ['kind', 'tier', 'source', 'tag', 'from', 'until'] as const

/** The filters in the address. */
type Filter = Pick<Input<'memories.list'>, (typeof names)[number]>

/** An unknown value in the address is sent as it is: the daemon refuses it with a reason. */
function filterOf(query: URLSearchParams): Filter {
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? undefined])) as Filter
}

function FilterBar() {
  const { query } = usePlace()
  const value = (name: (typeof names)[number]) => query.get(name) ?? ''
  const set = (name: string) => (chosen: string) => setQuery(query, { [name]: chosen })
  const chosen = names.filter((name) => value(name) !== '')
  return (
    <Fold icon="menu" title={t.search.filters} detail={chosen.map(value).join(' · ')} startsOpen={chosen.length > 0}>
      <div className="grid grid-cols-2 gap-2 sm:grid-cols-3">
        <SelectField label={t.common.kind} choices={kindChoices} value={value('kind')} onChange={set('kind')} />
        <SelectField
          label={t.search.retention}
          choices={retentionChoices}
          value={value('tier')}
          onChange={set('tier')}
        />
        <SelectField label={t.common.source} choices={sourceChoices} value={value('source')} onChange={set('source')} />
        <TextField label={t.search.tag} value={value('tag')} onChange={(event) => set('tag')(event.target.value)} />
        <TextField
          label={t.search.from}
          type="date"
          value={value('from')}
          onChange={(event) => set('from')(event.target.value)}
        />
        <TextField
          label={t.search.until}
          type="date"
          value={value('until')}
          onChange={(event) => set('until')(event.target.value)}
        />
      </div>
    </Fold>
  )
}

type Signal = NonNullable<MemorySearchReply['results'][number]['why']>['signals'][number]

/** Each ranking signal in words. */
const meanings: Record<string, [name: string, meaning: string]> = {
  meaning: [t.search.meaning, t.search.similarMeaningQuestion],
  words: [t.search.words, t.search.containsWordsQuestionNext],
  'thread meaning': [t.search.conversationMeaning, t.search.conversationAroundSimilarMeaning],
  'thread words': [t.search.conversationWords, t.search.conversationAroundContainsWords],
  dates: [t.search.dates, t.search.fromDatesQuestion],
  speaker: [t.search.names, t.search.saidPersonQuestionNames],
  role: [t.search.youSaidIt, t.search.ownWordsRankHigher],
  number: [t.search.numbers, t.search.questionAsksNumberOne],
  self: [t.search.aboutYou, t.search.aboutPersonWhoSaid],
  standing: [t.search.preference, t.search.preferenceAppliesUntilChange],
  kept: [t.search.savedNote, t.search.savedOnPurpose],
  graph: [t.search.linked, t.search.linkedMatchingMemory],
  tags: [t.search.tags, t.search.tagsTitleMatch],
  strength: [t.search.strength, t.search.usedRecentlyFaded],
  recency: [t.search.recent, t.search.createdRecently],
  'asks itself': [t.search.isAQuestion, t.search.questionRarelyAnswer],
  'says little': [t.search.lowInformation, t.search.veryShort],
  'is long': [t.search.long, t.search.usesSpaceSeveralMemories],
  'is cut': [t.search.excerpt, t.search.partLongerText],
  'has many passages': [t.search.manyPassages, t.search.oneManyPassagesSame],
}

interface Reason {
  key: string
  name: string
  meaning: string
  /** Its place in that list, where it is one. */
  rank: number | undefined
  added: number
  /** Of the largest of all shown, 0 to 1: the length of its bar. */
  share: number
}

/** The largest first, as the daemon gives them. */
export function reasonsOf(signals: readonly Signal[]): Reason[] {
  const largest = Math.max(...signals.map(({ added }) => Math.abs(added)), Number.EPSILON)
  return signals.map(({ name, rank, added }) => {
    const [shown, meaning] = meanings[name] ?? [name, '']
    return { key: name, name: shown, meaning, rank, added, share: Math.abs(added) / largest }
  })
}

export function formatAdded(added: number): string {
  return `${added < 0 ? '−' : '+'}${formatDecimal(Math.abs(added), 2)}`
}

type Result = MemorySearchReply['results'][number]

/** Why it was found, ranker by ranker, with what each added to its score. */
function WhyView({ why, score }: { why: NonNullable<Result['why']>; score: number }) {
  const reasons = reasonsOf(why.signals)
  const most = formatList(reasons.slice(0, 3).map(({ name }) => name))
  return (
    <div className="mt-2">
      <Fold icon="gauge" title={t.search.why} detail={`${formatDecimal(score, 2)} · ${most}`}>
        <table className="w-full text-sm">
          <caption className="sr-only">{t.search.howEachSignalChanged}</caption>
          <tbody>
            {reasons.map(({ key, name, meaning, rank, added, share }) => (
              <tr key={key} title={meaning}>
                <th scope="row" className="py-0.5 pe-3 text-start font-normal whitespace-nowrap">
                  {name}
                  {rank !== undefined && <span className="text-soft"> {t.search.rank(rank)}</span>}
                </th>
                <td className="w-full py-0.5">
                  <svg
                    viewBox="0 0 100 4"
                    preserveAspectRatio="none"
                    className={added < 0 ? 'h-1.5 w-full text-warn' : 'h-1.5 w-full text-accent'}
                    aria-hidden="true"
                  >
                    <rect width={share * 100} height={4} fill="currentColor" />
                  </svg>
                </td>
                <td className="py-0.5 ps-3 text-end whitespace-nowrap tabular-nums">{formatAdded(added)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <p className="mt-2 text-xs text-soft">
          {t.search.scoreStrength(formatDecimal(score, 2), Math.round(why.strength * 100))}
        </p>
      </Fold>
    </div>
  )
}

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
            label={t.search.searchMemory}
            isLabelHidden
            type="search"
            className="flex-1"
            placeholder={t.search.searchAskQuestion}
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value)
              // An emptied question is the list again.
              if (event.target.value === '') setQuery(query, { q: '' })
            }}
          />
          <Button type="submit" kind="main">
            <Icon name="search" size={16} /> {t.common.search}
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
  const answer = useAnswer('memories.search', { q: question, explain: true, limit: 30, ...filter })
  if (answer.error) return <Failure error={answer.error} onRetry={answer.refresh} />
  if (!answer.data) return <p className="breathing text-soft">{t.search.searching}</p>
  const { results } = answer.data
  return (
    <>
      <div role="status">
        {results.length > 0 ? (
          <p className="text-sm text-soft">{t.search.resultsBestMatchFirst(results.length)}</p>
        ) : (
          <Empty title={t.common.noResults}>{t.search.tryOtherWordsFewer}</Empty>
        )}
      </div>
      <DeepRecall question={question} />
      <ol aria-label={t.search.results}>
        {results.map(({ memory, why, score }) => (
          <MemoryListItem key={memory.id} memory={memory}>
            {why && <WhyView why={why} score={score} />}
          </MemoryListItem>
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
        <Empty title={isFiltered ? t.search.noResultsFilters : t.search.noMemoriesYet}>
          {isFiltered ? t.search.removeFilterSeeMore : t.search.tellFamiliarSomethingConversation}
        </Empty>
      )}
      <ul aria-label={t.search.memories}>
        {pages.memories.map((memory) => (
          <MemoryListItem key={memory.id} memory={memory} />
        ))}
      </ul>
      {pages.hasMore && <LoadMore isLoading={pages.isLoading} onMore={pages.more} />}
    </>
  )
}

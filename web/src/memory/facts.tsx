import { type FormEvent, useMemo, useState } from 'react'
import type { FactReply, FactRequest } from '../../../src/protocol/memory.ts'
import { useAnswer } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import { Empty, Failure } from '../components/feedback.tsx'
import { SelectField, TextField } from '../components/forms.tsx'
import { Fold, Section } from '../components/layout.tsx'
import { go, Link, usePlace } from '../shell/router.tsx'
import { compareNames, formatPercent } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { useCorrections } from './corrections.tsx'
import { setQuery, showDay } from './memory-list.tsx'

const nothing = { entity: '', attribute: '', value: '' }

function AddFact({ onAdded }: { onAdded(): void }) {
  const { stateFact } = useCorrections()
  const [fact, setFact] = useState(nothing)
  const isWhole = Object.values(fact).every((part) => part.trim() !== '')

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    // Familiar stores the user's name as "user".
    const body: FactRequest = { ...fact, entity: /^(?:i|me|you)$/i.test(fact.entity.trim()) ? 'user' : fact.entity }
    if (!(await stateFact(body, onAdded))) return
    setFact(nothing)
    onAdded()
  }

  const field = (name: keyof typeof nothing, label: string, placeholder: string) => (
    <TextField
      label={label}
      value={fact[name]}
      placeholder={placeholder}
      maxLength={name === 'value' ? 10_000 : 200}
      onChange={(event) => setFact((before) => ({ ...before, [name]: event.target.value }))}
    />
  )
  return (
    <Fold icon="plus" title={t.facts.addAFact} detail={t.facts.aboutPersonThing}>
      <form className="grid items-end gap-2 sm:grid-cols-[1fr_1fr_1fr_auto]" onSubmit={(event) => void submit(event)}>
        {field('entity', t.facts.subject, t.facts.ruth)}
        {field('attribute', t.facts.attribute, t.facts.attributeExample)}
        {field('value', t.facts.value, t.facts.porto)}
        <Button type="submit" disabled={!isWhole}>
          {t.common.save}
        </Button>
      </form>
    </Fold>
  )
}

type Column = 'entity' | 'attribute' | 'value' | 'confidence' | 'valid_from'

interface Sorting {
  by: Column
  isDown: boolean
}

export function sortFacts(facts: readonly FactReply[], { by, isDown }: Sorting): FactReply[] {
  const sign = isDown ? -1 : 1
  return facts.toSorted((a, b) => sign * (by === 'confidence' ? a[by] - b[by] : compareNames(a[by], b[by])))
}

/** Every word has to be somewhere in it. */
export function filterFacts(facts: readonly FactReply[], filter: { words: string; entity: string; attribute: string }) {
  const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean)
  return facts.filter(
    ({ entity, attribute, value }) =>
      (filter.entity === '' || entity === filter.entity) &&
      (filter.attribute === '' || attribute === filter.attribute) &&
      words.every((word) => `${entity} ${attribute} ${value}`.toLowerCase().includes(word)),
  )
}

/** How many there are of each, the most first. */
export function countBy(
  facts: readonly FactReply[],
  column: 'entity' | 'attribute',
): { name: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const fact of facts) counts.set(fact[column], (counts.get(fact[column]) ?? 0) + 1)
  return Array.from(counts, ([name, count]) => ({ name, count })).sort(
    (a, b) => b.count - a.count || compareNames(a.name, b.name),
  )
}

/** From the address: anything else is the newest first. */
export function readSorting(text: string | null): Sorting {
  const [, sign, name] = /^(-?)(entity|attribute|value|confidence|valid_from)$/.exec(text ?? '') ?? []
  return name ? { by: name as Column, isDown: sign === '-' } : { by: 'valid_from', isDown: true }
}

export function writeSorting({ by, isDown }: Sorting): string {
  return `${isDown ? '-' : ''}${by}`
}

const columns: [Column, string][] = [
  ['entity', t.facts.subject],
  ['attribute', t.facts.attribute],
  ['value', t.facts.value],
  ['confidence', t.facts.confidence],
  ['valid_from', t.facts.since],
]

function FactTable(props: { facts: readonly FactReply[]; sorting: Sorting; onSort(sorting: Sorting): void }) {
  const { facts, sorting, onSort } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <section tabIndex={0} aria-label={t.facts.facts} className="overflow-x-auto rounded-xl border border-line">
      <table className="w-full min-w-[34rem] text-sm">
        <thead className="bg-sunken text-start">
          <tr>
            {columns.map(([name, label]) => {
              const isSorted = sorting.by === name
              return (
                <th
                  key={name}
                  scope="col"
                  aria-sort={isSorted ? (sorting.isDown ? 'descending' : 'ascending') : 'none'}
                  className="text-start font-medium"
                >
                  <button
                    type="button"
                    className="min-h-9 w-full px-3 text-start whitespace-nowrap hover:text-accent"
                    onClick={() => onSort({ by: name, isDown: isSorted && !sorting.isDown })}
                  >
                    {label} <span aria-hidden="true">{isSorted && (sorting.isDown ? '↓' : '↑')}</span>
                  </button>
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>
          {facts.map(({ id, entity, attribute, value, confidence, valid_from, valid_to }) => (
            <tr key={id} className={valid_to ? 'border-t border-line text-soft' : 'border-t border-line'}>
              <td className="px-3 py-2">{entity === 'user' ? t.common.you : entity}</td>
              <td className="px-3 py-2">{attribute}</td>
              <td className="px-3 py-2">
                <Link
                  href={`/memory/${encodeURIComponent(id)}`}
                  className="font-medium underline-offset-4 hover:text-accent hover:underline"
                >
                  {value}
                </Link>
              </td>
              <td className="px-3 py-2 tabular-nums">{formatPercent(confidence)}</td>
              <td className="px-3 py-2 whitespace-nowrap">
                {showDay(valid_from)}
                {valid_to && ` – ${showDay(valid_to)}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const rowsAtFirst = 200
const maxFacts = 5_000

export function FactsTab() {
  const { query } = usePlace()
  const withHistory = query.get('history') === 'true'
  const answer = useAnswer('facts.list', { limit: maxFacts, history: withHistory })
  const [rows, setRows] = useState(rowsAtFirst)
  const [words, entity, attribute] = ['words', 'entity', 'attribute'].map((name) => query.get(name) ?? '') as [
    string,
    string,
    string,
  ]
  const sorting = readSorting(query.get('sort'))
  const order = writeSorting(sorting)
  const all = answer.data?.facts
  const found = useMemo(
    () => sortFacts(filterFacts(all ?? [], { words, entity, attribute }), readSorting(order)),
    [all, words, entity, attribute, order],
  )
  const entities = useMemo(() => countBy(all ?? [], 'entity'), [all])
  const attributes = useMemo(() => countBy(all ?? [], 'attribute'), [all])

  if (answer.error) return <Failure error={answer.error} onRetry={answer.refresh} />
  return (
    <>
      <AddFact onAdded={answer.refresh} />
      <div className="mt-4 grid gap-2 sm:grid-cols-3">
        <TextField
          label={t.common.search}
          type="search"
          value={words}
          onChange={(event) => setQuery(query, { words: event.target.value })}
        />
        <SelectField
          label={t.facts.subject}
          value={entity}
          choices={counted(t.facts.allSubjects, entities)}
          onChange={(value) => setQuery(query, { entity: value })}
        />
        <SelectField
          label={t.facts.attribute}
          value={attribute}
          choices={counted(t.facts.allAttributes, attributes)}
          onChange={(value) => setQuery(query, { attribute: value })}
        />
      </div>
      <div className="my-3 flex flex-wrap items-center justify-between gap-2 text-sm">
        <p role="status" className="text-soft">
          {t.facts.summary(found.length, countBy(found, 'entity').length, countBy(found, 'attribute').length)}
          {all?.length === maxFacts && t.facts.fromTheNewest(maxFacts)}
        </p>
        <label className="flex min-h-9 items-center gap-2">
          <input
            type="checkbox"
            checked={withHistory}
            onChange={(event) => setQuery(query, { history: event.target.checked ? 'true' : '' })}
          />
          {t.facts.showPastValues}
        </label>
      </div>
      {all && found.length === 0 ? (
        <Empty title={all.length === 0 ? t.facts.noFactsYet : t.common.noResults}>
          {all.length === 0 ? t.facts.factOneValueAbout : t.facts.removeFilterSeeMore}
        </Empty>
      ) : (
        <FactTable
          facts={found.slice(0, rows)}
          sorting={sorting}
          onSort={(next) => setQuery(query, { sort: writeSorting(next) })}
        />
      )}
      {found.length > rows && (
        <p className="py-4 text-center">
          <Button kind="quiet" onClick={() => setRows(rows + rowsAtFirst)}>
            {t.facts.showMore}
          </Button>
        </p>
      )}
    </>
  )
}

function counted(all: string, counts: readonly { name: string; count: number }[]) {
  return [
    { value: '', label: `${all} (${counts.length})` },
    ...counts.map(({ name, count }) => ({ value: name, label: `${name === 'user' ? t.common.you : name} (${count})` })),
  ]
}

/** The values that a fact has had, and a new one in its place. */
export function FactHistory(props: { fact: FactReply; values: readonly FactReply[]; onChanged(): void }) {
  const { fact, values, onChanged } = props
  return (
    <Section title={`${fact.entity}: ${fact.attribute}`}>
      <ol className="mb-3 border-s-2 border-line ps-4 text-sm">
        {values.map(({ id, value, valid_from, valid_to }) => (
          <li key={id} className="py-1" aria-current={id === fact.id ? 'true' : undefined}>
            <Link
              href={`/memory/${encodeURIComponent(id)}`}
              className={id === fact.id ? 'font-medium' : 'text-soft underline underline-offset-4'}
            >
              {value}
            </Link>{' '}
            <span className="text-xs text-soft">
              {showDay(valid_from)} – {valid_to ? showDay(valid_to) : t.facts.now}
            </span>
          </li>
        ))}
      </ol>
      {fact.valid_to === null && <NewValue fact={fact} onChanged={onChanged} />}
    </Section>
  )
}

function NewValue({ fact, onChanged }: { fact: FactReply; onChanged(): void }) {
  const { stateFact } = useCorrections()
  const [value, setValue] = useState('')
  const [isBusy, setIsBusy] = useState(false)

  async function supersede(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    const body: FactRequest = { entity: fact.entity, attribute: fact.attribute, value: value.trim(), confidence: 1 }
    const place = (id: string) => `/memory/${encodeURIComponent(id)}`
    // The undone fact no longer exists: show the current one.
    const written = await stateFact(body, () => go(place(fact.id)))
    setIsBusy(false)
    if (!written) return
    setValue('')
    if (written.fact.id === fact.id) onChanged()
    else go(place(written.fact.id))
  }

  return (
    <form className="flex flex-wrap items-end gap-2" onSubmit={(event) => void supersede(event)}>
      <TextField
        label={t.facts.newValue}
        className="min-w-40 flex-1"
        value={value}
        maxLength={10_000}
        placeholder={fact.value}
        onChange={(event) => setValue(event.target.value)}
      />
      <Button type="submit" isBusy={isBusy} disabled={value.trim() === ''}>
        {t.facts.replace}
      </Button>
    </form>
  )
}

import { useMemo, useState } from 'react'
import type { FactsReply } from '../../../../src/protocol/fact-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Button } from '../../components/button.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { Empty, Failure } from '../../components/notice.tsx'
import { usePlace } from '../../shell/router.ts'
import { setQuery } from '../set-query.ts'
import { AddFact } from './add-fact.tsx'
import { countBy, filterFacts, readSorting, sortFacts, writeSorting } from './fact-table.ts'
import { FactTable } from './fact-table-view.tsx'

const rowsAtFirst = 200
const most = 5_000

export function FactsTab() {
  const { query } = usePlace()
  const withHistory = query.get('history') === 'true'
  const answer = useAnswer<FactsReply>('/memories/facts', { query: { limit: most, history: withHistory } })
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
          label="Words"
          type="search"
          value={words}
          onChange={(event) => setQuery(query, { words: event.target.value })}
        />
        <SelectField
          label="Of"
          value={entity}
          choices={counted('Everybody and everything', entities)}
          onChange={(value) => setQuery(query, { entity: value })}
        />
        <SelectField
          label="What"
          value={attribute}
          choices={counted('Every attribute', attributes)}
          onChange={(value) => setQuery(query, { attribute: value })}
        />
      </div>
      <div className="my-3 flex flex-wrap items-center justify-between gap-2 text-sm">
        <p role="status" className="text-soft">
          {plural(found.length, 'fact', 'facts')}, {plural(countBy(found, 'entity').length, 'entity', 'entities')},{' '}
          {plural(countBy(found, 'attribute').length, 'attribute', 'attributes')}
          {all?.length === most && `, out of the newest ${most}`}
        </p>
        <label className="flex min-h-9 items-center gap-2">
          <input
            type="checkbox"
            checked={withHistory}
            onChange={(event) => setQuery(query, { history: event.target.checked ? 'true' : '' })}
          />
          Also what was true before
        </label>
      </div>
      {all && found.length === 0 ? (
        <Empty title={all.length === 0 ? 'No facts yet' : 'No fact fits'}>
          {all.length === 0
            ? 'Facts are what is true of whom: “Ruth: home is Porto”. Familiar writes them as it learns, and you can state one above.'
            : 'Take a filter away to see more.'}
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
            Show more
          </Button>
        </p>
      )}
    </>
  )
}

function plural(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`
}

function counted(all: string, counts: readonly { name: string; count: number }[]) {
  return [
    { value: '', label: `${all} (${counts.length})` },
    ...counts.map(({ name, count }) => ({ value: name, label: `${name === 'user' ? 'You' : name} (${count})` })),
  ]
}

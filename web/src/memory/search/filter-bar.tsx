import { SelectField, TextField } from '../../components/field.tsx'
import { Fold } from '../../components/fold.tsx'
import { usePlace } from '../../shell/router.ts'
import { setQuery } from '../set-query.ts'
import { kindChoices, sourceChoices, tierChoices } from '../words.ts'

const names = ['kind', 'tier', 'source', 'tag', 'from', 'until'] as const

/** What the address says about which memories are wanted. */
export function filterOf(query: URLSearchParams): Record<(typeof names)[number], string | undefined> {
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? undefined])) as ReturnType<typeof filterOf>
}

export function FilterBar() {
  const { query } = usePlace()
  const value = (name: (typeof names)[number]) => query.get(name) ?? ''
  const set = (name: string) => (chosen: string) => setQuery(query, { [name]: chosen })
  const chosen = names.filter((name) => value(name) !== '')
  return (
    <Fold icon="menu" title="Filters" detail={chosen.map(value).join(' · ')} startsOpen={chosen.length > 0}>
      <div className="grid grid-cols-2 gap-2 sm:grid-cols-3">
        <SelectField label="Kind" choices={kindChoices} value={value('kind')} onChange={set('kind')} />
        <SelectField label="Lasts" choices={tierChoices} value={value('tier')} onChange={set('tier')} />
        <SelectField label="Source" choices={sourceChoices} value={value('source')} onChange={set('source')} />
        <TextField label="Tag" value={value('tag')} onChange={(event) => set('tag')(event.target.value)} />
        <TextField
          label="From"
          type="date"
          value={value('from')}
          onChange={(event) => set('from')(event.target.value)}
        />
        <TextField
          label="Until"
          type="date"
          value={value('until')}
          onChange={(event) => set('until')(event.target.value)}
        />
      </div>
    </Fold>
  )
}

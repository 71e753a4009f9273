import { useState } from 'react'
import { Button } from '../components/button.tsx'
import { SelectField, TextField } from '../components/field.tsx'
import { Icon } from '../components/icon.tsx'
import { Empty, Failure } from '../components/notice.tsx'
import { Panel, Screen } from '../components/screen.tsx'
import { go, usePlace } from '../shell/router.ts'
import { EntryCard } from './entry-card.tsx'
import { EntryDialog } from './entry-dialog.tsx'
import { categories, fits } from './private-entry.ts'
import { SwitchAndShared } from './switch-and-shared.tsx'
import { TransferButtons } from './transfer-buttons.tsx'
import { useEntries } from './use-entries.ts'

const place = '/private-memory'

/** `/private-memory?words=…&category=…&source=…`, and `?entry=<id>` or `?entry=new` with the form open. */
export function PrivateMemoryScreen() {
  const { query } = usePlace()
  const { entries, error } = useEntries()
  const [words, setWords] = useState(query.get('words') ?? '')
  const filter = { words, category: query.get('category') ?? '', source: query.get('source') ?? '' }
  const shown = (entries ?? []).filter((entry) => fits(entry, filter))
  const wanted = query.get('entry')
  const open = entries?.find(({ id }) => id === wanted)

  function change(changes: Record<string, string>, options?: { replace?: boolean }): void {
    const next = new URLSearchParams(query)
    for (const [name, value] of Object.entries(changes)) value === '' ? next.delete(name) : next.set(name, value)
    go(next.size > 0 ? `${place}?${next}` : place, options)
  }

  return (
    <Screen
      title="Only in this browser"
      intro="Notes that are kept in this browser and nowhere else: not on Familiar’s machine, not in its memory, not in another browser of yours."
      actions={
        <>
          <TransferButtons entries={entries ?? []} />
          <Button kind="main" onClick={() => change({ entry: 'new' })}>
            <Icon name="plus" size={16} /> New entry
          </Button>
        </>
      }
    >
      {error && <Failure error={error} />}
      <Panel className="mb-6">
        <SwitchAndShared />
      </Panel>
      {entries && entries.length > 0 && (
        <div className="mb-4 flex flex-wrap gap-2">
          <TextField
            label="Search"
            isLabelHidden
            type="search"
            placeholder="Search …"
            className="min-w-48 flex-1"
            value={words}
            onChange={(event) => {
              setWords(event.target.value)
              change({ words: event.target.value }, { replace: true })
            }}
          />
          <SelectField
            label="Category"
            isLabelHidden
            value={filter.category}
            choices={[{ value: '', label: 'Every category' }, ...categories.map((value) => ({ value, label: value }))]}
            onChange={(category) => change({ category }, { replace: true })}
          />
          <SelectField
            label="Written by"
            isLabelHidden
            value={filter.source}
            choices={[
              { value: '', label: 'By anybody' },
              { value: 'user', label: 'By you' },
              { value: 'ai', label: 'By Familiar' },
            ]}
            onChange={(source) => change({ source }, { replace: true })}
          />
        </div>
      )}
      <p role="status" className="sr-only">
        {entries && `${shown.length} of ${entries.length} entries`}
      </p>
      <ul className="space-y-3">
        {shown.map((entry) => (
          <EntryCard key={entry.id} entry={entry} onEdit={() => change({ entry: entry.id })} />
        ))}
      </ul>
      {entries?.length === 0 && (
        <Empty title="Nothing is kept here yet">
          Write down what should never leave this device. Or switch it on above and tell Familiar in the talk: “Keep in
          my browser that …”
        </Empty>
      )}
      {entries && entries.length > 0 && shown.length === 0 && <Empty title="Nothing fits">Try fewer words.</Empty>}
      {(wanted === 'new' || open) && (
        <EntryDialog key={wanted} entry={open} onClose={() => change({ entry: '' }, { replace: true })} />
      )}
    </Screen>
  )
}

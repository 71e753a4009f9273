import { Screen } from '../components/screen.tsx'
import { Tabs } from '../components/tabs.tsx'
import { go, usePlace } from '../shell/router.ts'
import { AddNote } from './add-note.tsx'
import { ChangesTab } from './changes-tab.tsx'
import { CommitmentsTab } from './commitments/commitments-tab.tsx'
import { FactsTab } from './facts/facts-tab.tsx'
import { GraphTab } from './graph/graph-tab.tsx'
import { LearntTab } from './learnt-tab.tsx'
import { OneMemory } from './one/one-memory.tsx'
import { SearchTab } from './search/search-tab.tsx'
import { StoreTab } from './store/store-tab.tsx'
import { TimelineTab } from './timeline/timeline-tab.tsx'

const tabs = [
  { name: 'search', label: 'Search', content: <SearchTab /> },
  { name: 'learnt', label: 'Learnt', content: <LearntTab /> },
  { name: 'facts', label: 'Facts', content: <FactsTab /> },
  { name: 'commitments', label: 'Commitments', content: <CommitmentsTab /> },
  { name: 'timeline', label: 'Timeline', content: <TimelineTab /> },
  { name: 'graph', label: 'Graph', content: <GraphTab /> },
  { name: 'changes', label: 'Changes', content: <ChangesTab /> },
  { name: 'store', label: 'Store', content: <StoreTab /> },
]

/** `/memory/<id>` is one memory; `/memory` all of them, in the ways that `?tab=` tells. */
export function MemoryScreen() {
  const { path, query } = usePlace()
  const id = path.startsWith('/memory/') ? decoded(path.slice('/memory/'.length)) : ''
  if (id !== '') return <OneMemory key={id} id={id} />
  const asked = query.get('tab')
  const tab = tabs.some(({ name }) => name === asked) ? (asked ?? 'search') : 'search'
  return (
    <Screen
      title="Memory"
      intro="All that Familiar knows, where it is from, and how to change it."
      actions={<AddNote />}
    >
      <Tabs
        label="Memory"
        tabs={tabs}
        value={tab}
        onChange={(name) => go(name === 'search' ? '/memory' : `/memory?tab=${name}`)}
      />
    </Screen>
  )
}

/** A citation is as good as the id in it. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part).replace(/^memory:/, '')
  } catch {
    return part
  }
}

import { type FormEvent, useState } from 'react'
import type { FactRequest } from '../../../../src/protocol/fact-api.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { Fold } from '../../components/fold.tsx'
import { useCorrections } from '../use-corrections.ts'

const nothing = { entity: '', attribute: '', value: '' }

export function AddFact({ onAdded }: { onAdded(): void }) {
  const { stateFact } = useCorrections()
  const [fact, setFact] = useState(nothing)
  const isWhole = Object.values(fact).every((part) => part.trim() !== '')

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    // Familiar knows whoever talks to it as "user".
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
    <Fold icon="plus" title="State a fact" detail="Of somebody or something">
      <form className="grid items-end gap-2 sm:grid-cols-[1fr_1fr_1fr_auto]" onSubmit={(event) => void submit(event)}>
        {field('entity', 'Of whom or what', 'Ruth')}
        {field('attribute', 'What', 'home')}
        {field('value', 'Is', 'Porto')}
        <Button type="submit" disabled={!isWhole}>
          Save
        </Button>
      </form>
    </Fold>
  )
}

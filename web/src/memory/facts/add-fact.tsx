import { type FormEvent, useState } from 'react'
import type { FactRequest, WrittenFactReply } from '../../../../src/protocol/fact-api.ts'
import { ask } from '../../api/ask.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { Fold } from '../../components/fold.tsx'
import { useToasts } from '../../components/toast.tsx'

const nothing = { entity: '', attribute: '', value: '' }

export function AddFact({ onAdded }: { onAdded(): void }) {
  const toasts = useToasts()
  const [fact, setFact] = useState(nothing)
  const isWhole = Object.values(fact).every((part) => part.trim() !== '')

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    // Familiar knows whoever talks to it as "user".
    const body: FactRequest = { ...fact, entity: /^(?:i|me|you)$/i.test(fact.entity.trim()) ? 'user' : fact.entity }
    try {
      const { outcome, old } = await ask<WrittenFactReply>('/memories/facts', { body })
      toasts.done(old ? `Noted. Before, it was ${old.value}.` : outcome === 'added' ? 'Noted.' : 'It was known so.')
      setFact(nothing)
      onAdded()
    } catch (error) {
      toasts.failed(error)
    }
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

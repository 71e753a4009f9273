import { type FormEvent, useState } from 'react'
import type { BuildQuestionsReply } from '../../../../src/protocol/build-api.ts'
import { ask } from '../../api/ask.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { useToasts } from '../../components/toast.tsx'
import { choicesOf, type OpenQuestion } from './build-story.ts'

/** What a build wants to know: words, or a secret that goes past every model into the vault. */
export function BuildQuestion({ question }: { question: OpenQuestion }) {
  const toasts = useToasts()
  const [value, setValue] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const { id, secret } = question
  const isSecret = secret !== null
  const asked = useAnswer<BuildQuestionsReply>('/builds/questions').data?.questions.find((one) => one.id === id)

  async function give(words: string): Promise<void> {
    setIsBusy(true)
    const path = `/builds/questions/${encodeURIComponent(id)}`
    try {
      await (isSecret ? ask(`${path}/secret`, { body: { value: words } }) : ask(path, { body: { answer: words } }))
      setValue('')
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  function submit(event: FormEvent): void {
    event.preventDefault()
    void give(value)
  }

  return (
    <form
      aria-label={isSecret ? 'It asks for a secret' : 'It asks you'}
      className="space-y-2 rounded-xl border border-warn bg-warn-soft p-3"
      onSubmit={submit}
    >
      <p className="whitespace-pre-wrap text-sm">{question.question}</p>
      {asked?.is_untrusted && (
        <p className="text-sm text-warn">
          It had words of others in sight when it asked. Give nothing that they should not have.
        </p>
      )}
      {!isSecret && choicesOf(question.question).length > 0 && (
        <div className="flex flex-wrap gap-2">
          {choicesOf(question.question).map((choice) => (
            <Button key={choice} isBusy={isBusy} onClick={() => void give(choice)}>
              {choice}
            </Button>
          ))}
        </div>
      )}
      <div className="flex flex-wrap items-end gap-2">
        <TextField
          className="min-w-48 flex-1"
          label={isSecret ? `Secret ${secret}` : 'Your answer'}
          hint={isSecret ? 'It is kept sealed. No model sees it, and it is never shown again.' : undefined}
          type={isSecret ? 'password' : 'text'}
          autoComplete={isSecret ? 'new-password' : 'off'}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
        <Button type="submit" kind="main" isBusy={isBusy} disabled={value.trim() === ''}>
          {isSecret ? 'Keep' : 'Answer'}
        </Button>
      </div>
    </form>
  )
}

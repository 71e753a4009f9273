/** Everything the offline model says, in one place, so that it can be read as one voice. Plain, short, honest. */
export const texts = {
  help: [
    'I work without a language model, by the form of what you write. This I can do:',
    '- Remember: “Remember that I am allergic to shellfish”, “My sister’s birthday is 5 May”',
    '- Recall, with the note it comes from: “What am I allergic to?”, “What do you know about me?”',
    '- Keep reminders as text: “Remind me to call the dentist”, “What are my reminders?”',
    '- List your notes, show my status and what I cost: “List my notes”, “Status”',
    'For free conversation run `familiar setup`, or set ANTHROPIC_API_KEY or start Ollama, and restart me.',
  ].join('\n'),

  greeting: 'Hello! Tell me something to remember, or ask me about what you told me. “Help” shows what I can do.',
  thanks: 'You are welcome.',
  allRight: 'All right.',
  identity:
    'I am Familiar, your personal agent. No language model is set up or reachable right now, so I answer by simple ' +
    'rules: I remember, recall with the source, and tell my status. “Help” shows how.',
  nothingSaid: 'That message had no words for me. “Help” shows what I can do.',

  unknown:
    'No language model is set up or reachable, so I cannot talk freely or work that out. I can remember (“Remember ' +
    'that …”), answer from what you told me (“What am I allergic to?”), keep reminders as text, and show status and ' +
    'cost. To give me a model, run `familiar setup`, or set ANTHROPIC_API_KEY or start Ollama, and restart me.',
  alsoUnknown: (sentence: string) => `Without a language model I did not understand ${quoteEnding(sentence)}`,
  tooMuch: (done: number) => `I took the first ${done} things of that message. Please send the rest again.`,

  noted: (content: string, citation: string) => `Noted: ${quoteEnding(content)} ${citation}`,
  knownAlready: (content: string, date: string, citation: string) =>
    `I have had that since ${date}: ${quoteEnding(content)} ${citation}`,
  nothingToNote: 'What should I remember? For example: “Remember that I am allergic to shellfish”.',

  reminderNoted: (content: string, citation: string) =>
    `I keep this reminder: ${quoteEnding(content)} ${citation}\n` +
    'I show it when you ask “What are my reminders?”. I cannot ring at a time yet: alarms come with schedules.',
  nothingToRemind: 'What should the reminder say? For example: “Remind me to call the dentist”.',
  reminders: 'Your reminders (I list them when asked; I cannot ring yet):',
  noReminders: 'You have no reminders with me. “Remind me to …” makes one.',

  toldOn: (content: string, date: string, citation: string) =>
    `You told me on ${date}: ${quoteEnding(content)} ${citation}`,
  closest: (content: string, date: string, citation: string) =>
    `The closest I have, from ${date}: ${quoteEnding(content)} ${citation}`,
  also: 'Also:',
  listed: (content: string, date: string, citation: string) => `- ${quote(content)} (${date}) ${citation}`,
  notes: 'The newest of what you told me:',
  noNotes: 'I have no notes of yours yet. Tell me something: “Remember that …”.',
  nothingFound:
    'You have told me nothing about that, and no language model is set up or reachable, so your notes are all that I ' +
    'can answer from. Tell me (“Remember that …”), or run `familiar setup` to give me a model.',

  forget:
    'I cannot delete a note from here yet; nothing was changed. If a note is wrong, tell me how it is now: of two ' +
    'notes that fit, the newer comes first.',

  files: (names: string) => `I got and stored ${names}. I cannot look inside files without a language model.`,

  toolMissing: (purpose: string) => `I could not ${purpose}: the tool for it is not available here.`,
  toolFailed: (purpose: string, reason: string) => `I could not ${purpose}: ${reason}`,
  outcomeUnknown: (purpose: string) =>
    `I was interrupted when I tried to ${purpose}, so I do not know whether it happened. Ask me to list your notes, ` +
    'or say it again: nothing is kept twice.',
}

const longestQuote = 300

/** The user's own words, never rewritten; a long text is cut and says so. */
export function quote(text: string): string {
  const line = text
    .slice(0, longestQuote * 4)
    .trim()
    .replaceAll(/\s+/g, ' ')
  const shown =
    line.length > longestQuote
      ? `${line
          .slice(0, longestQuote)
          .toWellFormed()
          .replace(/\ufffd$/, '')} …`
      : line
  return `“${shown}”`
}

function quoteEnding(text: string): string {
  return /[.!?…。！？]$/.test(text.trim()) ? quote(text) : `${quote(text)}.`
}

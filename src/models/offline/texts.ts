/** Everything the offline model says, in one place, so that it can be read as one voice. Plain, short, honest. */
export const texts = {
  help: [
    'I work without a language model, by the form of what you write. This I can do:',
    '- Remember: “Remember that I am allergic to shellfish”, “My sister’s birthday is 5 May”',
    '- Recall, with the note it comes from: “What am I allergic to?”, “What do you know about me?”',
    '- Look up facts, people, promises and days: “When is Anna’s birthday?”, “What do I still owe my sister?”, “What did I tell you last week?”',
    '- Correct: “That is wrong: …”, “Forget my note about …”, “Undo that”',
    '- Keep reminders as text: “Remind me to call the dentist”, “What are my reminders?”',
    '- List your notes, show my status and what I cost: “List my notes”, “Status”',
    '- Use tools: “Fetch https://example.com”, “Search the web for …”, “Run the tool NAME with city Valletta, days 3”',
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
  closestOnes: 'Nothing says that in so many words. Closest:',
  also: 'Also:',
  newer: 'Told since:',
  fact: (sentence: string, date: string, citation: string) => `${sentence}. (Known since ${date}.) ${citation}`,
  history: (sentence: string, until: string, citation: string) =>
    `Until ${until}: ${quoteEnding(sentence)} ${citation}`,
  fileSays: (passage: string, place: string, citation: string) => `${place} says: ${quoteEnding(passage)} ${citation}`,
  iSaid: (passage: string, date: string, citation: string) => `I said on ${date}: ${quoteEnding(passage)} ${citation}`,
  untrusted: (passage: string, source: string, citation: string) =>
    `Not your words, and not to be relied on (${source}): ${quoteEnding(passage)} ${citation}`,
  fromOthers: 'not your words',
  counted: (count: number, names: readonly string[]) => `${count}, as far as I know: ${names.join(', ')}`,
  fromThen: 'From then I have:',
  nothingThen: 'I have nothing from then.',

  promise: (sentence: string, due: string, citation: string) =>
    due === '' || due === 'open' ? `${sentence}. ${citation}` : `${sentence} (${due}). ${citation}`,
  promises: 'What is open:',
  noPromises: 'I know of nothing open there.',
  noSuchPromise: 'I know of no open promise like that. “What have I promised?” lists them.',
  whichPromise: 'Which one? Say more of its words:',
  promiseClosed: (state: string, lines: readonly string[]) => [`Now ${state}:`, ...lines].join('\n'),

  listed: (content: string, date: string, citation: string) => `- ${quote(content)} (${date}) ${citation}`,
  notes: 'The newest of what you told me:',
  noNotes: 'I have no notes of yours yet. Tell me something: “Remember that …”.',
  nothingFound:
    'You have told me nothing about that, and no language model is set up or reachable, so your notes are all that I ' +
    'can answer from. Tell me (“Remember that …”), or run `familiar setup` to give me a model.',

  forget:
    'I cannot delete a note from here; nothing was changed. If a note is wrong, tell me how it is now: of two notes that ' +
    'fit, the newer comes first.',
  forgetWhat: 'What should I forget? For example: “Forget my note about the dentist”, or “Forget [memory:…]”.',
  forgetWhich: 'Several fit. Which one? Say “forget” and its [memory:…]:',
  nothingJustSo: 'I have nothing that says just that; nothing was changed. Closest (say “forget” and its [memory:…]):',
  nothingToForget: 'I have nothing about that; nothing was changed.',
  forgetEverything: (about: string) =>
    'I forget one thing at a time from here; nothing was changed. Everything about something, for good, goes with ' +
    `\`familiar memory forget --everything about ${quote(about)}\`, run where I am installed.`,
  forgotten: (citation: string) => `Forgotten. ${citation} “Undo that” brings it back, for 30 days.`,
  undone: 'It is as it was before:',
  corrected: (content: string, citation: string) =>
    `Corrected: ${quoteEnding(content)} ${citation} “Undo that” takes it back.`,
  correctHow: 'How is it, then? Say “That is wrong: …”, or “Forget that”.',
  done: 'Done.',
  hereItIs: 'Here it is.',
  leftAsIs: 'All right, it stays as it is.',

  files: (names: string) => `I got and stored ${names}. I cannot look inside files without a language model.`,

  noSuchTool: (name: string) => `There is no tool named ${quote(name)}. \`familiar tools list\` shows what there is.`,
  toolNeeds: (name: string, missing: readonly string[]) =>
    `${name} needs ${missing.join(', ')}. Say “Run the tool ${name} with ${missing.map((one) => `${one} …`).join(', ')}”.`,
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

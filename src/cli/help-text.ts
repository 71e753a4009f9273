/** What a newcomer needs after the list of commands. */
export function helpEpilogue(homePath: string): string {
  return `Examples:
  familiar start                                             serve, and talk in this terminal
  familiar send "Remember that I am allergic to shellfish"
  familiar send "What am I allergic to?" --json | jq -r .reply
  git diff | familiar send - --session review
  familiar log --session main --follow

Home: ${homePath}
  Everything is kept there. Another place: --home PATH, or FAMILIAR_HOME.

A model, in one of two ways:
  1. Put a key into the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY), or have a
     local server running (Ollama, LM Studio, llama.cpp): it is found and used.
  2. Run "familiar setup", or write familiar.toml and providers.d/NAME.toml yourself.
  With neither, the offline model answers: it remembers and recalls, and says what it cannot do.

Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 Familiar cannot be reached, 130 stopped with Ctrl-C.`
}

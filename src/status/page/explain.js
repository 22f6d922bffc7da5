/** Answers the form: what a pasted request means here and what is cached for it. */
export function explainOnSubmit(form, list, access) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const target = new FormData(form).get('target');
    list.replaceChildren(...rows(await explain(target, access)));
  });
}

async function explain(target, access) {
  try {
    const response = await fetch(`/explain?${new URLSearchParams({ target })}`, { headers: access.headers });
    return await response.json();
  } catch {
    return { error: 'toncache does not answer' };
  }
}

/** Each field as a name and its value, never as markup. */
function rows(explanation) {
  return Object.entries(explanation).flatMap(([name, value]) => {
    const [term, description] = [document.createElement('dt'), document.createElement('dd')];
    term.textContent = name;
    description.textContent = describe(value);
    return [term, description];
  });
}

function describe(value) {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(describe).join('; ');
  if (value === null || typeof value !== 'object') return String(value);
  const fields = Object.entries(value).map(([name, field]) => `${name} ${describe(field)}`);
  return fields.length === 0 ? 'none' : fields.join(', ');
}

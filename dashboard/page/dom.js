// Elements from data. Text only ever becomes text: nothing here, or anywhere on the page, makes markup of a string.

/**
 * An element: `h('li.note.warn', { title: 'x', onclick: f }, 'text', child)`. `on…` are listeners, other properties attributes;
 * null and false leave an attribute or a child out.
 */
export function h(name, ...rest) {
  const [tag, ...classes] = name.split('.');
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(' ');
  return fill(element, rest);
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(name, ...rest) {
  return fill(document.createElementNS(SVG, name), rest);
}

function fill(element, rest) {
  const [first, ...others] = rest;
  const hasAttributes =
    first !== null && typeof first === 'object' && !(first instanceof Node) && !Array.isArray(first);
  if (hasAttributes) {
    for (const [key, value] of Object.entries(first)) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
      else element.setAttribute(key, value === true ? '' : String(value));
    }
  }
  for (const child of (hasAttributes ? others : rest).flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

export const byId = (id) => document.getElementById(id);
